// K_v by its definition: see reference.hpp.
#include "kernels/direct/reference.hpp"

#include <cmath>
#include <utility>

#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

/// Points of the lattice up to so far from a position on each of its axes reach all that lies within `reach` of it
/// in the frame.
Vec3d reach_in_points(const DirectLattice& lattice, const ViewFrame& frame, Vec3d reach) {
  const Vec3d n = frame.direction(), s = {-frame.sin_f, frame.cos_f, 0};
  const Vec3d z = {-frame.cos_f * frame.sin_q, -frame.sin_f * frame.sin_q, frame.cos_q};
  const Vec3d origin = lattice.coordinates({});
  Vec3d most;
  const auto add = [&](Vec3d axis, double length) {
    const Vec3d along = lattice.coordinates(length * axis) - origin;
    most = most + Vec3d{std::abs(along.x), std::abs(along.y), std::abs(along.z)};
  };
  add(n, reach.x);
  add(s, reach.y);
  add(z, reach.z);
  return most;
}

}  // namespace

DirectReference::DirectReference(const Grid& grid, const ViewSet& set, const DirectSettings& settings, ReferenceCut cut)
    : DirectProjector(grid, set, settings), cut_(cut) {
  constexpr double all = 9;
  const DirectKernel& kernel = settings.kernel;
  const double cuts = cut == ReferenceCut::none ? all : static_cast<double>(kernel.cut_sigma);
  reach_mm_ = {cuts * static_cast<double>(kernel.tof_sigma_mm), profiles().reach_mm(cuts),
               cuts * static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma};
}

bool DirectReference::holds(double t, double s, double z) const {
  if (cut_ == ReferenceCut::none)
    return std::abs(t) <= reach_mm_.x && std::abs(s) <= reach_mm_.y && std::abs(z) <= reach_mm_.z;
  const double a = t / reach_mm_.x, b = s / reach_mm_.y, c = z / reach_mm_.z;
  return a * a + b * b + c * c <= 1;
}

void DirectReference::for_each_point(const ViewFrame& frame, const DirectLattice& lattice, Vec3d voxel_mm,
                                     const Visit& visit) const {
  const DirectKernel& kernel = settings().kernel;
  const int profile = profile_of(frame, voxel_mm);
  const double tof = static_cast<double>(kernel.tof_sigma_mm);
  const double axial = static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma;
  const Vec3d at = lattice.coordinates(voxel_mm), reach = reach_in_points(lattice, frame, reach_mm_);
  std::vector<std::pair<std::int64_t, double>> points;
  double sum = 0;
  const auto first = [](double from, double by) { return static_cast<int>(std::ceil(from - by)); };
  const auto last = [](double from, double by) { return static_cast<int>(std::floor(from + by)); };
  for (int j = first(at.y, reach.y); j <= last(at.y, reach.y); ++j)
    for (int i = first(at.x, reach.x); i <= last(at.x, reach.x); ++i) {
      const Vec3d base = lattice.position(i, j, 0) - voxel_mm;
      const double s = frame.s(base);
      if (std::abs(s) > reach_mm_.y) continue;
      const double across = profiles().density(profile, s);
      for (int k = first(at.z, reach.z); k <= last(at.z, reach.z); ++k) {
        const Vec3d from = base + static_cast<double>(k) * lattice.step(2);
        const double t = frame.t(from), z = frame.z(from);
        if (!holds(t, s, z)) continue;
        const double weight = across * std::exp(-0.5 * (t * t / (tof * tof) + z * z / (axial * axial)));
        sum += weight;  // also of a point that the histo-image does not hold
        if (lattice.contains(i, j, k)) points.emplace_back(lattice.index(i, j, k), weight);
      }
    }
  for (const auto& [point, weight] : points) visit(point, weight / sum);
}

std::vector<double> DirectReference::forward(const Views& views, std::span<const double> image) const {
  require_views(views);
  std::vector<double> histo(static_cast<std::size_t>(views.count), 0.0);
  const DirectLattice voxels = DirectLattice::of(grid(), HistoLattice::image, {});
  for (int v = 0; v < views.views; ++v) {
    const DirectLattice points = lattice(frame(views, v));
    double* const view = histo.data() + v * points.points();
    for (int k = 0; k < voxels.size[2]; ++k)
      for (int j = 0; j < voxels.size[1]; ++j)
        for (int i = 0; i < voxels.size[0]; ++i) {
          const double x = image[static_cast<std::size_t>(voxels.index(i, j, k))];
          if (x == 0) continue;
          for_each_point(frame(views, v), points, voxels.position(i, j, k),
                         [&](std::int64_t point, double weight) { view[point] += weight * x; });
        }
  }
  return histo;
}

std::vector<double> DirectReference::back(const Views& views, std::span<const double> values) const {
  require_views(views);
  std::vector<double> image(static_cast<std::size_t>(grid().voxels()), 0.0);
  const DirectLattice voxels = DirectLattice::of(grid(), HistoLattice::image, {});
  for (int v = 0; v < views.views; ++v) {
    const DirectLattice points = lattice(frame(views, v));
    const double* const view = values.data() + v * points.points();
    for (int k = 0; k < voxels.size[2]; ++k)
      for (int j = 0; j < voxels.size[1]; ++j)
        for (int i = 0; i < voxels.size[0]; ++i) {
          double& sum = image[static_cast<std::size_t>(voxels.index(i, j, k))];
          for_each_point(frame(views, v), points, voxels.position(i, j, k),
                         [&](std::int64_t point, double weight) { sum += weight * view[point]; });
        }
  }
  return image;
}

void DirectReference::forward(const Views& views, const float* image, float* expectation, Stream) {
  const std::vector<double> wide(image, image + grid().voxels());
  const std::vector<double> histo = forward(views, wide);
  for (std::size_t i = 0; i < histo.size(); ++i) expectation[i] = static_cast<float>(histo[i]);
}

void DirectReference::back(const Views& views, const float* values, float* image, Stream) {
  const std::vector<double> wide = values ? std::vector<double>(values, values + views.count)
                                          : std::vector<double>(static_cast<std::size_t>(views.count), 1.0);
  const std::vector<double> sum = back(views, wide);
  for (std::size_t i = 0; i < sum.size(); ++i) image[i] = static_cast<float>(static_cast<double>(image[i]) + sum[i]);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
