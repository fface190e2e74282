// Weighted statistics of regions of interest: see roi.hpp.
#include "kernels/analysis/roi.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

namespace {

/// Voxel indices [first, last] that a region may touch.
struct VoxelBox {
  int first[3], last[3];
};

/// Voxels that [low, high] (mm) touches along an axis. Throws where it leaves the image.
void touch(const Grid& grid, int axis, double low, double high, VoxelBox& box) {
  const auto voxel = static_cast<double>(grid.voxel_mm[axis]);
  const double edge = static_cast<double>(grid.origin_mm[axis]) - 0.5 * voxel;
  const double extent = voxel * grid.size[axis], slack = 1e-4 * voxel;
  if (!(low >= edge - slack && high <= edge + extent + slack))
    throw std::invalid_argument(
        fmt::format("a region of interest from {:.1f} to {:.1f} mm along {} lies outside the image "
                    "({:.1f} to {:.1f} mm)",
                    low, high, "xyz"[axis], edge, edge + extent));
  box.first[axis] = std::clamp(static_cast<int>((low - edge) / voxel), 0, grid.size[axis] - 1);
  box.last[axis] = std::clamp(static_cast<int>((high - edge) / voxel), 0, grid.size[axis] - 1);
}

void require_size(float mm, const char* name) {
  if (!(std::isfinite(mm) && mm > 0))
    throw std::invalid_argument(
        fmt::format("the {} of a region of interest must be finite and positive (mm), not {}", name, mm));
}

/// Points a voxel along x, y, z.
using Samples = std::array<int, 3>;

/// Part of the voxel (i, j, k) inside, by so many points; points where inside(dx, dy, dz) in mm from the region's
/// centre.
template <class Inside>
double part_inside(const Grid& grid, Vec3d offset, const Samples& n, const Inside& inside) {
  const Vec3d voxel = grid.voxel_mm.as<double>();
  const auto point = [](double centre, double edge, int s, int count) {
    return centre + edge * ((s + 0.5) / count - 0.5);
  };
  int found = 0;
  for (int c = 0; c < n[2]; ++c)
    for (int b = 0; b < n[1]; ++b)
      for (int a = 0; a < n[0]; ++a)
        found += inside(point(offset.x, voxel.x, a, n[0]), point(offset.y, voxel.y, b, n[1]),
                        point(offset.z, voxel.z, c, n[2]));
  return static_cast<double>(found) / (static_cast<double>(n[0]) * n[1] * n[2]);
}

/// Sums weights and weighted values about a first value, which keeps the variance exact.
class WeightedSum {
 public:
  void add(float value, double weight) {
    if (weight <= 0) return;
    const auto v = static_cast<double>(value);
    if (!std::isfinite(v)) throw std::invalid_argument("a region of interest holds a voxel that is not finite");
    if (weights_ == 0) shift_ = v;
    weights_ += weight;
    sum_ += weight * (v - shift_);
    squares_ += weight * (v - shift_) * (v - shift_);
    low_ = std::min(low_, v);
    high_ = std::max(high_, v);
  }
  RoiStatistics result() const {
    if (weights_ <= 0) throw std::invalid_argument("a region of interest is too small to hold any part of a voxel");
    const double mean = sum_ / weights_;
    return {shift_ + mean, std::sqrt(std::max(squares_ / weights_ - mean * mean, 0.0)), low_, high_, weights_};
  }

 private:
  double shift_ = 0, weights_ = 0, sum_ = 0, squares_ = 0;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

/// Statistics over a box of voxels, each weighted with its part inside. A voxel whose corners are
/// all inside a (convex) region needs no sampling.
template <class Inside>
RoiStatistics over(const Image& image, const VoxelBox& box, Vec3d centre, const Samples& n, const Inside& inside) {
  const std::span<const float> voxels = image.voxels.span();
  const Vec3d half = 0.5 * image.grid.voxel_mm.as<double>();
  WeightedSum sum;
  for (int k = box.first[2]; k <= box.last[2]; ++k)
    for (int j = box.first[1]; j <= box.last[1]; ++j)
      for (int i = box.first[0]; i <= box.last[0]; ++i) {
        const Vec3d offset = image.grid.centre(i, j, k).as<double>() - centre;
        const bool whole =
            inside(std::abs(offset.x) + half.x, std::abs(offset.y) + half.y, std::abs(offset.z) + half.z);
        sum.add(voxels[static_cast<std::size_t>(image.grid.index(i, j, k))],
                whole ? 1.0 : part_inside(image.grid, offset, n, inside));
      }
  return sum.result();
}

VoxelBox box_about(const Grid& grid, Vec3 centre, Vec3 half) {
  VoxelBox box{};
  for (int axis = 0; axis < 3; ++axis)
    touch(grid, axis, static_cast<double>(centre[axis]) - static_cast<double>(half[axis]),
          static_cast<double>(centre[axis]) + static_cast<double>(half[axis]), box);
  return box;
}

}  // namespace

RoiStatistics statistics(const Image& image, const Sphere& region, int subsamples) {
  require_size(region.radius_mm, "radius");
  const float r = region.radius_mm;
  const double r2 = static_cast<double>(r) * static_cast<double>(r);
  return over(image, box_about(image.grid, region.centre_mm, {r, r, r}), region.centre_mm.as<double>(),
              {subsamples, subsamples, subsamples},
              [r2](double x, double y, double z) { return x * x + y * y + z * z <= r2; });
}

RoiStatistics statistics(const Image& image, const Cylinder& region, int subsamples) {
  require_size(region.radius_mm, "radius");
  require_size(region.length_mm, "length");
  const float r = region.radius_mm;
  const double r2 = static_cast<double>(r) * static_cast<double>(r);
  const double half = 0.5 * static_cast<double>(region.length_mm);
  return over(image, box_about(image.grid, region.centre_mm, {r, r, 0.5f * region.length_mm}),
              region.centre_mm.as<double>(), {subsamples, subsamples, subsamples},
              [r2, half](double x, double y, double z) { return x * x + y * y <= r2 && std::abs(z) <= half; });
}

RoiStatistics statistics(const Image& image, const Disc& region, int subsamples) {
  require_size(region.radius_mm, "radius");
  const float r = region.radius_mm;
  const double r2 = static_cast<double>(r) * static_cast<double>(r);
  const int across = region.axis;
  Vec3 half{r, r, r};
  half.set(across, 0);
  VoxelBox box = box_about(image.grid, region.centre_mm, half);
  const Grid& grid = image.grid;
  const float slice = (region.centre_mm[across] - grid.origin_mm[across]) / grid.voxel_mm[across];
  box.first[across] = box.last[across] = std::clamp(static_cast<int>(std::lround(slice)), 0, grid.size[across] - 1);
  Samples samples{subsamples, subsamples, subsamples};
  samples[static_cast<std::size_t>(across)] = 1;
  return over(image, box, region.centre_mm.as<double>(), samples, [r2, across](double x, double y, double z) {
    Vec3d offset{x, y, z};
    offset.set(across, 0);
    return dot(offset, offset) <= r2;
  });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
