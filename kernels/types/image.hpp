// An image: a grid and its float voxels, on the host or a device.
#pragma once

#include <cstddef>

#include "kernels/memory/memory.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

struct Image {
  Grid grid;
  Buffer<float> voxels;

  /// All voxels 0. Throws std::runtime_error when the memory is refused.
  static Image zeros(const Grid& grid, Memory memory = Memory::host, Stream stream = nullptr) {
    return {grid, Buffer<float>::zeros(memory, grid.voxels(), stream)};
  }
  /// All voxels `value`, complete on return.
  static Image filled(const Grid& grid, float value, Memory memory = Memory::host, Stream stream = nullptr);

  Image to(Memory memory, Stream stream = nullptr) const { return {grid, voxels.to(memory, stream)}; }
  std::size_t bytes() const { return voxels.bytes(); }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
