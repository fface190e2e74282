// The tile of a visit, for kernels that take visits of all tiles together.
#pragma once

#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

/// The tile of a visit: the last that begins at or before it.
__device__ inline std::uint32_t tile_of_visit(const VisitView& plan, std::uint32_t visit) {
  std::uint32_t tile = 0, beyond = static_cast<std::uint32_t>(plan.tiling.count());
  while (beyond - tile > 1) {
    const std::uint32_t middle = (tile + beyond) / 2;
    (plan.tile_begin[middle] <= visit ? tile : beyond) = middle;
  }
  return tile;
}

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
