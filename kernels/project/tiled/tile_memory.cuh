// A tile of the image in shared memory: filling it from the image, and going through its sums.
#pragma once

#include <cuda_pipeline.h>

#include "kernels/project/tiled/tiling.hpp"

namespace tofstream::tiled {

/// A tile's box in terms of the image's axes x, y, z. The functions below are for a whole block of threads; none of
/// them waits for the others.
struct TileBox {
  int begin[3], extent[3], stride[3];  // first voxel (may lie outside the image), voxels, words from one to the next
  int size[3];                         // of the image

  __device__ static TileBox make(const AxisTiles& axis, int tile) {
    const int local = tile - axis.first_tile;
    const int numbers[3] = {local % axis.tiles[0], local / axis.tiles[0] % axis.tiles[1],
                            local / (axis.tiles[0] * axis.tiles[1])};
    const int strides[3] = {axis.plane_stride, 1, axis.row_stride};
    const int axes[3] = {axis.axis, axis.u_axis, axis.v_axis};
    TileBox box;
#pragma unroll
    for (int m = 0; m < 3; ++m)
#pragma unroll
      for (int k = 0; k < 3; ++k)
        if (axes[k] == m) {
          box.begin[m] = axis.begin(k, numbers[k]);
          box.extent[m] = axis.stored[k];
          box.stride[m] = strides[k];
          box.size[m] = axis.size[k];
        }
    return box;
  }

  /// A voxel of the tile: its word, and its place in the image, which may not have it.
  struct Place {
    int word;
    std::int64_t voxel;
    bool in_image;
  };

  /// Calls use(place) for the voxels of the tile, of which a thread takes columns along z. Columns are counted along x
  /// first, so that a warp meets neighbours in the image; along a column there are only additions to compute.
  template <class Use>
  __device__ void for_each(Use&& use) const {
    const std::int64_t plane = static_cast<std::int64_t>(size[0]) * size[1];
    for (int column = static_cast<int>(threadIdx.x); column < extent[0] * extent[1];
         column += static_cast<int>(blockDim.x)) {
      const int y = column / extent[0], x = column - y * extent[0];
      const int i = begin[0] + x, j = begin[1] + y;
      const bool inside = static_cast<unsigned>(i) < static_cast<unsigned>(size[0]) &&
                          static_cast<unsigned>(j) < static_cast<unsigned>(size[1]);
      const auto depth = inside ? static_cast<unsigned>(size[2]) : 0u;
      Place at{x * stride[0] + y * stride[1], i + static_cast<std::int64_t>(size[0]) * j + plane * begin[2], false};
#pragma unroll 4
      for (int k = begin[2]; k < begin[2] + extent[2]; ++k) {
        at.in_image = static_cast<unsigned>(k) < depth;
        use(at);
        at.word += stride[2];
        at.voxel += plane;
      }
    }
  }

  /// Begins to fill the tile from the image; zeros where the image has no voxel.
  __device__ void begin_load(const float* __restrict__ image, float* tile) const {
    constexpr std::size_t word = sizeof(float);
    for_each([&](const Place& at) {
      __pipeline_memcpy_async(tile + at.word, at.in_image ? image + at.voxel : image, word, at.in_image ? 0 : word);
    });
  }
  /// The calling thread's part of the tile is loaded on return; the parts of other threads are after a __syncthreads().
  __device__ static void end_load() {
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }

  /// Calls use(voxel of the image, word's value) for the words that are not 0 and whose voxel the image has.
  template <class Use>
  __device__ void for_each_sum(const int* tile, Use&& use) const {
    for_each([&](const Place& at) {
      const int sum = tile[at.word];
      if (sum != 0 && at.in_image) use(at.voxel, sum);
    });
  }
};

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
