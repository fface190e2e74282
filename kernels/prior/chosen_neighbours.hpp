// Which neighbours a voxel has by an anatomical image: Bowsher's choice (Bowsher et al., IEEE Nucl Sci Symp Conf Rec
// 4:2488, 2004).
#pragma once

#include <cstdint>

#include "kernels/memory/memory.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// The neighbours that each voxel has chosen: a bit a neighbour, x fastest from (-1, -1, -1).
class ChosenNeighbours {
 public:
  /// The `count` of the 26 neighbours, fewer at the border, whose values in `anatomy` are nearest to a voxel's own; of
  /// equally near ones those at the shorter distance first, then in the order of memory. Chosen on the host; the result
  /// lies in the memory of `anatomy`. Throws std::invalid_argument for blobs, or a count that is not in [1, 26].
  ChosenNeighbours(const Image& anatomy, int count, Stream stream = nullptr);

  const Grid& grid() const { return grid_; }
  const Buffer<std::uint32_t>& bits() const { return bits_; }

 private:
  Grid grid_;
  Buffer<std::uint32_t> bits_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
