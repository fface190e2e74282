// Profiles: see profile.hpp.
#include "kernels/analysis/profile.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

namespace {

/// A place between two neighbours along one axis.
struct Between {
  int near, far;
  double part;  // of the way from near to far
};

Between between(const Grid& grid, int axis, double mm) {
  const double place = (mm - static_cast<double>(grid.origin_mm[axis])) / static_cast<double>(grid.voxel_mm[axis]);
  const int last = grid.size[axis] - 1;
  if (!(place >= -0.5 - 1e-4 && place <= last + 0.5 + 1e-4))
    throw std::invalid_argument(fmt::format("a profile leaves the image at {} = {:.2f} mm", "xyz"[axis], mm));
  const double inside = std::clamp(place, 0.0, static_cast<double>(last));
  const int near = std::min(static_cast<int>(inside), std::max(last - 1, 0));
  return {near, std::min(near + 1, last), inside - near};
}

double value_at(const Image& image, Vec3d mm) {
  const Grid& grid = image.grid;
  const Between x = between(grid, 0, mm.x), y = between(grid, 1, mm.y), z = between(grid, 2, mm.z);
  const auto row = [&](int j, int k) {
    return std::lerp(static_cast<double>(image.voxels[grid.index(x.near, j, k)]),
                     static_cast<double>(image.voxels[grid.index(x.far, j, k)]), x.part);
  };
  const auto slice = [&](int k) { return std::lerp(row(y.near, k), row(y.far, k), y.part); };
  return std::lerp(slice(z.near), slice(z.far), z.part);
}

}  // namespace

std::vector<double> profile(const Image& image, Vec3 from_mm, Vec3 to_mm, int points) {
  if (points < 2) throw std::invalid_argument(fmt::format("a profile needs at least 2 points, not {}", points));
  const Vec3d from = from_mm.as<double>(), along = to_mm.as<double>() - from;
  std::vector<double> values;
  for (int i = 0; i < points; ++i)
    values.push_back(value_at(image, from + (static_cast<double>(i) / (points - 1)) * along));
  return values;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
