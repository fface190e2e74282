// Discrete kernels of planes: see plane_kernels.hpp.
#include "kernels/spect/plane_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/filter/gaussian_psf.hpp"

namespace tofstream {

namespace {

/// Variance of a plane's Gaussian in columns and rows, on the collimator's face as the beam sees it.
struct PlaneVariance {
  double u = 0, w = 0;
};
PlaneVariance variance_of(const ViewLattice& lattice, const SpectSettings& settings, double depth_mm) {
  if (settings.form == PsfForm::none) return {};
  const double sigma = psf_sigma_mm(settings.psf, depth_mm);
  const double u = sigma / (beam_scale_u(lattice.beam, lattice.focal_mm, depth_mm) * lattice.pu);
  const double w = sigma / (beam_scale_w(lattice.beam, lattice.focal_mm, depth_mm) * lattice.pw);
  return {u * u, w * w};
}

SeparableKernel gaussian_kernel(PlaneVariance variance) {
  return {gaussian_weights(std::sqrt(variance.u), psf_tail), gaussian_weights(std::sqrt(variance.w), psf_tail)};
}

/// Calls visit(plane, depth) for the image's planes before a collimator's face, the nearest first.
template <class Visit>
void for_each_plane_in_view(const ViewLattice& lattice, double radius_mm, Visit&& visit) {
  const LatticeView view{.radius_mm = radius_mm};
  for (int k = view.first_plane(lattice); k <= lattice.last; ++k) visit(k, view.depth_mm(lattice, k));
}

PlaneKernel product_of(const SeparableKernel& kernel) {
  const int reach_u = static_cast<int>(kernel.u.size()) - 1, reach_w = static_cast<int>(kernel.w.size()) - 1;
  PlaneKernel result{2 * reach_u + 1, 2 * reach_w + 1, {}};
  for (int j = -reach_w; j <= reach_w; ++j)
    for (int i = -reach_u; i <= reach_u; ++i)
      result.values.push_back(kernel.u[static_cast<std::size_t>(std::abs(i))] *
                              kernel.w[static_cast<std::size_t>(std::abs(j))]);
  return result;
}

PlaneKernel table_at(const KernelTable& table, double depth_mm) {
  const auto& depths = table.depths_mm;
  const auto above = std::ranges::upper_bound(depths, static_cast<float>(depth_mm));
  const auto high = static_cast<std::size_t>(std::min(above - depths.begin(), std::ptrdiff_t(depths.size()) - 1));
  const std::size_t low = above == depths.begin() ? 0 : static_cast<std::size_t>(above - depths.begin()) - 1;
  const double apart = double{depths[high]} - double{depths[low]};
  const double share = apart > 0 ? std::clamp((depth_mm - double{depths[low]}) / apart, 0.0, 1.0) : 0.0;
  PlaneKernel result{table.across, table.along, {}};
  const auto size = static_cast<std::size_t>(table.across) * static_cast<std::size_t>(table.along);
  for (std::size_t i = 0; i < size; ++i)
    result.values.push_back(static_cast<float>((1 - share) * double{table.values[low * size + i]} +
                                               share * double{table.values[high * size + i]}));
  return result;
}

}  // namespace

std::vector<SeparableKernel> separable_kernels(const ViewLattice& lattice, const SpectSettings& settings,
                                               double radius_mm) {
  std::vector<SeparableKernel> result(static_cast<std::size_t>(lattice.planes));
  for_each_plane_in_view(lattice, radius_mm, [&](int k, double depth) {
    result[static_cast<std::size_t>(k)] = gaussian_kernel(variance_of(lattice, settings, depth));
  });
  return result;
}

std::vector<SeparableKernel> incremental_kernels(const ViewLattice& lattice, const SpectSettings& settings,
                                                 double radius_mm) {
  std::vector<SeparableKernel> result(static_cast<std::size_t>(lattice.planes));
  PlaneVariance before;
  for_each_plane_in_view(lattice, radius_mm, [&](int k, double depth) {
    const PlaneVariance here = variance_of(lattice, settings, depth);
    result[static_cast<std::size_t>(k)] =
        gaussian_kernel({std::max(0.0, here.u - before.u), std::max(0.0, here.w - before.w)});
    before = here;
  });
  return result;
}

std::vector<PlaneKernel> plane_kernels(const ViewLattice& lattice, const SpectSettings& settings, double radius_mm) {
  std::vector<PlaneKernel> result(static_cast<std::size_t>(lattice.planes));
  const auto* table = std::get_if<KernelTable>(&settings.psf);
  for_each_plane_in_view(lattice, radius_mm, [&](int k, double depth) {
    result[static_cast<std::size_t>(k)] = table && settings.form != PsfForm::none
                                              ? table_at(*table, depth)
                                              : product_of(gaussian_kernel(variance_of(lattice, settings, depth)));
  });
  return result;
}

KernelReach reach_of(const std::vector<SeparableKernel>& kernels) {
  KernelReach reach;
  for (const SeparableKernel& kernel : kernels) {
    reach.u = std::max(reach.u, static_cast<int>(kernel.u.size()) - 1);
    reach.w = std::max(reach.w, static_cast<int>(kernel.w.size()) - 1);
  }
  return reach;
}

KernelReach widest_reach(const ViewLattice& lattice, const SpectSettings& settings, double radius_mm) {
  const auto* table = std::get_if<KernelTable>(&settings.psf);
  if (table && settings.form != PsfForm::none) return {table->across / 2, table->along / 2};
  return reach_of(separable_kernels(lattice, settings, radius_mm));
}

std::vector<double> radii_of(const ViewSet& set) {
  std::set<double> radii;
  for (const ViewPlace& place : set.places) radii.insert(static_cast<double>(place.radius_mm));
  return {radii.begin(), radii.end()};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
