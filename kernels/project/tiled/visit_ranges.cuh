// Walks visits in equal shares of all tiles' together, where a kernel has to know the tile.
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

/// Calls use(tile, first visit, end) for each tile that the block's share, `visits_a_block` visits, has part of. To all
/// threads of the block alike.
template <class Use>
__device__ void for_each_tile_of_block(const VisitView& plan, std::uint32_t visits_a_block, Use&& use) {
  const auto tiles = static_cast<std::uint32_t>(plan.tiling.count());
  const std::uint32_t begin = blockIdx.x * visits_a_block;
  const std::uint32_t end = min(begin + visits_a_block, plan.tile_begin[tiles]);
  if (begin >= end) return;
  for (std::uint32_t tile = tile_of_visit(plan, begin); tile < tiles && plan.tile_begin[tile] < end; ++tile) {
    const std::uint32_t first = max(begin, plan.tile_begin[tile]), last = min(end, plan.tile_begin[tile + 1]);
    if (first < last) use(tile, first, last);
  }
}

}  // namespace tofstream::tiled
