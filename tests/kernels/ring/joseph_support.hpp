// Rays whose Joseph sums are known by hand, through a box of 8 x 10 x 6 voxels of 2 x 1 x 4 mm
// centred at the origin (centres: x -7..7, y -4.5..4.5, z -10..10), and random events through it.
#pragma once

#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "tests/kernels/projector_support.hpp"

namespace tofstream::testing {

inline Grid box() {
  return Grid::centred(8, 10, 6, {2, 1, 4});
}
inline std::vector<float> ones(const Grid& grid) {
  return std::vector<float>(static_cast<std::size_t>(grid.voxels()), 1.0f);
}

/// Events that cross the box in all directions, of every dominant axis, some starting inside.
inline EventBatch events_through(const Grid& grid, std::int64_t count, TofModel tof, std::uint64_t seed) {
  EventBatch batch = random_lors({"", grid, 18, 60, tof}, count, seed);
  for (std::int64_t i = 0; i < count; i += 7)
    for (int axis = 0; axis < 3; ++axis) batch.ends[axis][i] *= 0.2f;
  return batch;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
