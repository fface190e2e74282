// Weights of the stages: see two_stage.hpp.
#include "kernels/direct/two_stage.hpp"

#include <algorithm>
#include <cmath>

#include <tbb/parallel_for.h>

#include "kernels/direct/kernel_tables.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

double unit_gaussian(double x) {
  return std::exp(-0.5 * x * x);
}

/// Of the second resampling, across the view and along z, in voxels: the narrowest factor, half of whose variance that
/// is, is then sampled to 2e-5 of its sum on three points a voxel.
constexpr double out_sigma_voxels = 0.36;

ResamplingKernel out_kernel(const Grid& grid, double u_sigma_mm, const DirectLattice& lattice) {
  ResamplingKernel out;
  const double across_mm = static_cast<double>(std::min(grid.voxel_mm.x, grid.voxel_mm.y));
  out.u_sigma_mm = u_sigma_mm;
  out.z_sigma_mm = out_sigma_voxels * static_cast<double>(grid.voxel_mm.z);
  out.radial = {{{1, 0, out_sigma_voxels * across_mm}}};
  // A voxel has what lies in as many points of the finer lattice as it is large.
  const Vec3d edge = lattice.spacing_mm;
  out.sums = {static_cast<double>(grid.voxel_volume()) / (edge.x * edge.y * edge.z)};
  return out;
}

/// The part of a view's own lattice, on `fine` times as many points across the view and along z, that the second
/// resampling reaches from voxels.
DirectLattice fine_lattice(const Grid& grid, const ViewFrame& frame, int fine, double u_sigma_mm, double cut) {
  DirectLattice lattice = DirectLattice::of(grid, HistoLattice::view, frame);
  const Vec3d edge = grid.voxel_mm.as<double>(), voxel = lattice.spacing_mm;
  lattice.spacing_mm = {voxel.x, voxel.y / fine, voxel.z / fine};
  const double x = (grid.size[0] - 1) * edge.x, y = (grid.size[1] - 1) * edge.y;
  const double u = std::abs(frame.cos_f) * x + std::abs(frame.sin_f) * y;
  const double s = std::abs(frame.sin_f) * x + std::abs(frame.cos_f) * y;
  const double k = (grid.size[2] - 1) * edge.z + std::abs(frame.tan_q()) * u;
  const auto points = [](double length_mm, double reach_mm, double spacing_mm) {
    return static_cast<int>(std::ceil((length_mm + 2 * reach_mm) / spacing_mm)) + 2;
  };
  const double out_sigmas = cut * out_sigma_voxels;
  lattice.size[0] = points(u, cut * u_sigma_mm, lattice.spacing_mm.x);
  lattice.size[1] = points(s, out_sigmas * voxel.y, lattice.spacing_mm.y);
  lattice.size[2] = points(k, out_sigmas * voxel.z, lattice.spacing_mm.z);
  while (lattice.size[2] % fine != 0) ++lattice.size[2];
  return lattice;
}

/// What the kernel's values on the image's lattice sum to, for each profile: 1 but for the sampling.
std::vector<double> sums_on_image(const Grid& grid, const ViewFrame& frame, const DirectKernel& kernel,
                                  const RadialProfiles& profiles) {
  DirectKernel uncut = kernel;
  uncut.cut_sigma = 6;
  const KernelTables tables(grid, frame, uncut, profiles);
  std::vector<double> sums;
  for (int a = 0; a < profiles.count(); ++a) sums.push_back(tables.sampled_sum(a));
  return sums;
}

}  // namespace

ResamplingLaw law_of(const TwoStageSplit& split, const ResamplingKernel& kernel) {
  const Vec3d spacing = split.between.spacing_mm;
  ResamplingLaw law;
  law.cut = split.cut;
  law.spacing_mm = spacing;
  law.u_sigma_mm = kernel.u_sigma_mm;
  law.z_sigma_mm = kernel.z_sigma_mm;
  law.count_u = PointRange::most(split.cut * kernel.u_sigma_mm / spacing.x);
  for (const RadialProfile& radial : kernel.radial)
    law.count_s = std::max(law.count_s, PointRange::most(radial_reach_mm(radial, split.cut) / spacing.y));
  law.count_z = PointRange::most(split.cut * kernel.z_sigma_mm / spacing.z);
  return law;
}

TwoStageSplit::TwoStageSplit(const Grid& grid, const ViewFrame& frame, const DirectKernel& kernel,
                             const RadialProfiles& profiles, HistoLattice lattice)
    : between(DirectLattice::of(grid, HistoLattice::view, frame)) {
  // Where two resamplings follow one another, each needs more than the least.
  const double u_sigma_points = lattice == HistoLattice::view ? least_sampled_sigma : 1.9 / fwhm_per_sigma;
  constexpr double least_rest_points = 0.5, least_z_points = 0.2;
  // Two resamplings that end where the kernel does leave the sum up to 4e-5 off.
  cut = static_cast<double>(kernel.cut_sigma) + (lattice == HistoLattice::image ? 1 : 0);
  const double spacing_mm = between.spacing_mm.x, tan_q = frame.tan_q();
  const double tof = static_cast<double>(kernel.tof_sigma_mm) * frame.cos_q;
  const double axial = static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma;
  const double u_sigma_mm = u_sigma_points * spacing_mm;
  in.u_sigma_mm = tan_q == 0 ? u_sigma_mm : axial;
  double rest = tof * tof + frame.sin_q * axial * (frame.sin_q * axial) - in.u_sigma_mm * in.u_sigma_mm;
  // Along the lattice's rows, which lie along the view, the kernel's variance is (sigma_axial / cos q)^2.
  double z_variance = axial / frame.cos_q * (axial / frame.cos_q) - tan_q * in.u_sigma_mm * (tan_q * in.u_sigma_mm);
  double s_variance_out = 0;
  if (lattice == HistoLattice::image) {
    fine = 3;
    between = fine_lattice(grid, frame, fine, u_sigma_mm, cut);
    out = out_kernel(grid, u_sigma_mm, between);
    z_variance -= out->z_sigma_mm * out->z_sigma_mm;
    s_variance_out = out->radial[0][0].sigma_mm * out->radial[0][0].sigma_mm;
    rest -= out->u_sigma_mm * out->u_sigma_mm;
  }
  for (int a = 0; a < profiles.count(); ++a) {
    in.radial.push_back(profiles[a]);
    for (RadialGaussian& part : in.radial.back())
      part.sigma_mm = std::sqrt(std::max(0.0, part.sigma_mm * part.sigma_mm - s_variance_out));
  }
  in.sums.assign(in.radial.size(), 1.0);
  if (out)
    for (std::size_t a = 0; const double sum : sums_on_image(grid, frame, kernel, profiles)) in.sums[a++] = 1 / sum;
  const double least_z_mm = least_z_points * between.spacing_mm.z, least_rest_mm = least_rest_points * spacing_mm;
  in.z_sigma_mm = std::sqrt(std::max(least_z_mm * least_z_mm, z_variance));
  rest_sigma_mm = rest >= least_rest_mm * least_rest_mm ? std::sqrt(rest) : 0;
}

std::vector<float> TwoStageSplit::rest_weights(double cuts) const {
  const int reach = static_cast<int>(std::floor(cuts * rest_sigma_mm / between.spacing_mm.x));
  std::vector<float> weights;
  for (int i = -reach; i <= reach; ++i)
    weights.push_back(static_cast<float>(unit_gaussian(i * between.spacing_mm.x / rest_sigma_mm)));
  scale_to_sum(weights.data(), static_cast<int>(weights.size()), 1);
  return weights;
}

namespace {

/// Weights along z of places whose first voxels lie at these rows of the lattice.
template <class RowAt>
WeightsAlongZ weights_along(const ResamplingLaw& law, std::int64_t places, const RowAt& row_at) {
  WeightsAlongZ result;
  result.count = law.count_z;
  result.starts.resize(static_cast<std::size_t>(places));
  result.weights.resize(static_cast<std::size_t>(places * law.count_z));
  for (std::int64_t place = 0; place < places; ++place)
    result.starts[static_cast<std::size_t>(place)] =
        make_along(law, row_at(place), result.weights.data() + place * law.count_z);
  return result;
}

}  // namespace

WeightsAlongZ weights_at_points(const Grid& grid, const TwoStageSplit& split, int margin) {
  const DirectLattice& points = split.between;
  const DirectLattice voxels = DirectLattice::of(grid, HistoLattice::image, {});
  return weights_along(law_of(split, split.in), points.size[0] + 2 * margin, [&](std::int64_t place) {
    const double u_mm = (static_cast<double>(place - margin) - points.middle(0)) * points.spacing_mm.x;
    const double from_middle_mm = voxels.position(0, 0, 0).z - points.centre_mm.z - points.tan_q * u_mm;
    return from_middle_mm / points.spacing_mm.z + points.middle(2);
  });
}

WeightsAlongZ weights_at_columns(const Grid& grid, const TwoStageSplit& split) {
  const DirectLattice voxels = DirectLattice::of(grid, HistoLattice::image, {});
  return weights_along(law_of(split, *split.out), grid.stride(2), [&](std::int64_t column) {
    const auto x = static_cast<int>(column % grid.size[0]), y = static_cast<int>(column / grid.size[0]);
    return split.between.coordinates(voxels.position(x, y, 0)).z;
  });
}

void ResamplingTaps::set(const Grid& grid, const ViewFrame& frame, const TwoStageSplit& split,
                         const ResamplingKernel& kernel, const RadialProfiles& profiles) {
  law_ = law_of(split, kernel);
  const auto columns = static_cast<std::size_t>(grid.stride(2));
  first_.resize(columns);
  u_.resize(columns * static_cast<std::size_t>(law_.count_u));
  s_.resize(columns * static_cast<std::size_t>(law_.count_s));
  const DirectLattice voxels = DirectLattice::of(grid, HistoLattice::image, frame);
  tbb::parallel_for(0, grid.size[1], [&](int y) {
    for (int x = 0; x < grid.size[0]; ++x) {
      const Vec3d at = voxels.position(x, y, 0);
      const auto profile = kernel.radial.size() == 1 ? 0 : static_cast<std::size_t>(profiles.index(frame.s(at)));
      const RadialProfile& radial = kernel.radial[profile];
      const RadialLaw radial_law = {radial.data(), static_cast<int>(radial.size()), radial_reach_mm(radial, split.cut),
                                    kernel.sums[profile]};
      const auto column = static_cast<std::size_t>(y * grid.size[0] + x);
      first_[column] = make_across(law_, radial_law, split.between.coordinates(at),
                                   u_.data() + column * static_cast<std::size_t>(law_.count_u),
                                   s_.data() + column * static_cast<std::size_t>(law_.count_s));
    }
  });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
