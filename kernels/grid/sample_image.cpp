// Images sampled on another grid: see sample_image.hpp.
#include "kernels/grid/sample_image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace tofstream {
namespace {

/// Between which two voxels of an axis a centre lies.
struct SamplePlace {
  int below, above;
  double part;  // of the one above
};

std::vector<SamplePlace> places_along(int axis, const Grid& grid, const Grid& of) {
  constexpr double rounding = 1e-4;  // of a voxel, by files that hold floats
  const auto to = [axis](const Vec3& v) { return static_cast<double>(axis == 0 ? v.x : axis == 1 ? v.y : v.z); };
  std::vector<SamplePlace> places;
  for (int i = 0; i < grid.size[axis]; ++i) {
    const double at = (to(grid.origin_mm) + i * to(grid.voxel_mm) - to(of.origin_mm)) / to(of.voxel_mm);
    if (at < -0.5 - rounding || at > of.size[axis] - 0.5 + rounding)
      throw std::invalid_argument(
          fmt::format("it does not cover the image: along {} it ends {:.3g} mm before the outermost voxel's centre",
                      "xyz"[axis], to(of.voxel_mm) * std::max(-0.5 - at, at - of.size[axis] + 0.5)));
    const double inside = std::clamp(at, 0.0, of.size[axis] - 1.0);
    const int below = std::min(static_cast<int>(inside), std::max(0, of.size[axis] - 2));
    places.push_back({below, std::min(below + 1, of.size[axis] - 1), inside - below});
  }
  return places;
}

}  // namespace

Image sampled_on(const Grid& grid, const Image& image) {
  validate(grid);
  validate(image.grid);
  const std::array<std::vector<SamplePlace>, 3> along = {
      places_along(0, grid, image.grid), places_along(1, grid, image.grid), places_along(2, grid, image.grid)};
  Image result = Image::zeros(grid);
  const auto at = [&](int i, int j, int k) { return static_cast<double>(image.voxels[image.grid.index(i, j, k)]); };
  const auto between = [](double a, double b, double part) { return a + part * (b - a); };
  tbb::parallel_for(0, grid.size[2], [&](int k) {
    const SamplePlace& z = along[2][static_cast<std::size_t>(k)];
    for (int j = 0; j < grid.size[1]; ++j) {
      const SamplePlace& y = along[1][static_cast<std::size_t>(j)];
      for (int i = 0; i < grid.size[0]; ++i) {
        const SamplePlace& x = along[0][static_cast<std::size_t>(i)];
        const auto row = [&](int row_j, int row_k) {
          return between(at(x.below, row_j, row_k), at(x.above, row_j, row_k), x.part);
        };
        const double low = between(row(y.below, z.below), row(y.above, z.below), y.part),
                     high = between(row(y.below, z.above), row(y.above, z.above), y.part);
        result.voxels[grid.index(i, j, k)] = static_cast<float>(between(low, high, z.part));
      }
    }
  });
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
