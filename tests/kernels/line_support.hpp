// Random lines across a grid and images of noise, for projector tests.
#pragma once

#include <random>
#include <vector>

#include "tests/kernels/projector_support.hpp"

namespace tofstream::testing {

/// Lines through random points of the grid's box, of random directions, `half_length_mm` long to
/// either side of a random midpoint on the line near the box's centre; ToF centres within the box.
inline std::vector<Lor> random_lines(const Grid& grid, int count, unsigned seed, float half_length_mm = 400) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> unit(0, 1);
  std::normal_distribution<float> normal;
  std::vector<Lor> lors;
  const auto point = [&] {
    Vec3 p;
    for (int axis = 0; axis < 3; ++axis)
      p.set(axis,
            grid.origin_mm[axis] + (unit(engine) * static_cast<float>(grid.size[axis]) - 0.5f) * grid.voxel_mm[axis]);
    return p;
  };
  for (int i = 0; i < count; ++i) {
    const Vec3 through = point();
    const Vec3 raw{normal(engine), normal(engine), normal(engine)};
    const Vec3 direction = (1 / norm(raw)) * raw;
    const float shift = 40 * (unit(engine) - 0.5f);
    const float tof = dot(point() - through, direction) - shift;
    lors.push_back(
        {through + (shift - half_length_mm) * direction, through + (shift + half_length_mm) * direction, tof});
  }
  return lors;
}

/// Lines along axes, near diagonals, between voxels, grazing and missing the grid, ending inside it,
/// degenerate. No voxel lies exactly at the tube's radius or end, where rounding would decide.
inline std::vector<Lor> awkward_lines() {
  return {{{-200, 0, 0}, {200, 0, 0}, 3},
          {{0, 200, 0}, {0, -200, 0}, 3},
          {{0.5f, 0.25f, -200}, {0.5f, 0.25f, 200}, -7},
          {{-200, -200, -200}, {200.3f, 199.1f, 200.7f}, 0},
          {{200.7f, -200, 0.3f}, {-200, 200, 0}, 5},
          {{-200, 12.5f, 3}, {200, 12.5f, 3}, 0},
          {{-200, 13.9f, 20}, {200, 13.9f, 20.5f}, 0},
          {{-200, 120, 0}, {200, 130, 0}, 0},
          {{300, 300, 300}, {400, 300, 300}, 0},
          {{1, 2, 3}, {200, 30, -20}, 40},
          {{1, 2, 3}, {4.1f, 4.3f, 5.2f}, 1},
          {{5, 5, 5}, {5, 5, 5}, 0},
          {{-200, 0, 0}, {200, 0, 0}, 5000},
          {{-200, 0, 0}, {200, NAN, 0}, 0}};
}

/// Voxels uniform in [0.5, 1.5].
inline Image noise_image(const Grid& grid, unsigned seed) {
  Image image = Image::zeros(grid);
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> value(0.5f, 1.5f);
  for (float& voxel : image.voxels.span()) voxel = value(engine);
  return image;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
