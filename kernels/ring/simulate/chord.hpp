// Where a line lies inside the box of an image.
#pragma once

#include <algorithm>

#include "kernels/math/vec3.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

/// The part [from, to] of the line a + t (b - a), t in [0, 1], inside the image box; from > to for
/// none.
struct Chord {
  double from = 0, to = 1;
  bool empty() const { return !(from < to); }
};

inline Chord chord_in_box(const Grid& grid, const Vec3d& a, const Vec3d& b) {
  Chord chord;
  for (int axis = 0; axis < 3; ++axis) {
    const double voxel = static_cast<double>(grid.voxel_mm[axis]);
    const double low = static_cast<double>(grid.origin_mm[axis]) - 0.5 * voxel;
    const double high = low + voxel * grid.size[axis];
    const double step = b[axis] - a[axis];
    if (step == 0) {
      if (a[axis] < low || a[axis] > high) return {1, 0};
      continue;
    }
    const auto [enter, leave] = std::minmax({(low - a[axis]) / step, (high - a[axis]) / step});
    chord.from = std::max(chord.from, enter);
    chord.to = std::min(chord.to, leave);
  }
  return chord;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
