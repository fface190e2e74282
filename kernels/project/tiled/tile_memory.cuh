// A tile of the image in shared memory: filling it from the image, and going through its sums.
#pragma once

#include "kernels/project/tiled/tiling.hpp"

namespace tofstream::tiled {

/// A tile's box in terms of the image's axes x, y, z. The functions below are for a whole block of threads, of which a
/// warp takes neighbours along x; none of them waits for the others.
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
  __device__ Place place(int x, int row) const {
    const int z = row / extent[1], y = row - z * extent[1];
    const int i = begin[0] + x, j = begin[1] + y, k = begin[2] + z;
    return {x * stride[0] + y * stride[1] + z * stride[2],
            i + static_cast<std::int64_t>(size[0]) * (j + static_cast<std::int64_t>(size[1]) * k),
            static_cast<unsigned>(i) < static_cast<unsigned>(size[0]) &&
                static_cast<unsigned>(j) < static_cast<unsigned>(size[1]) &&
                static_cast<unsigned>(k) < static_cast<unsigned>(size[2])};
  }

  /// Fills the tile from the image; zeros where the image has no voxel.
  __device__ void load(const float* __restrict__ image, float* tile) const {
    constexpr int batch = 8;  // loads on their way at a time
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int warps = static_cast<int>(blockDim.x) / 32, rows = extent[1] * extent[2];
    for (int x = lane; x < extent[0]; x += 32)
      for (int first = warp; first < rows; first += batch * warps) {
        float value[batch];
        int word[batch];
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          const int row = first + b * warps;
          const Place at = place(x, row);
          word[b] = row < rows ? at.word : -1;
          value[b] = row < rows && at.in_image ? __ldg(image + at.voxel) : 0.0f;
        }
#pragma unroll
        for (int b = 0; b < batch; ++b)
          if (word[b] >= 0) tile[word[b]] = value[b];
      }
  }

  /// Calls use(voxel of the image, word's value) for the words that are not 0 and whose voxel the image has.
  template <class Use>
  __device__ void for_each_sum(const int* tile, Use&& use) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int warps = static_cast<int>(blockDim.x) / 32, rows = extent[1] * extent[2];
    for (int x = lane; x < extent[0]; x += 32)
      for (int row = warp; row < rows; row += warps) {
        const Place at = place(x, row);
        const int sum = tile[at.word];
        if (sum != 0 && at.in_image) use(at.voxel, sum);
      }
  }

  /// The image's voxel of a word; false where the image has none. Slow: for what seldom happens.
  __device__ bool voxel_of(int word, const AxisTiles& axis, std::int64_t& voxel) const {
    const int plane = word / axis.plane_stride, rest = word - plane * axis.plane_stride;
    const int local[3] = {plane, rest % axis.row_stride, rest / axis.row_stride};
    const int axes[3] = {axis.axis, axis.u_axis, axis.v_axis};
    int at[3] = {};
    for (int k = 0; k < 3; ++k) at[axes[k]] = local[k];
    for (int m = 0; m < 3; ++m) {
      at[m] += begin[m];
      if (at[m] < 0 || at[m] >= size[m]) return false;
    }
    voxel = at[0] + static_cast<std::int64_t>(size[0]) * (at[1] + static_cast<std::int64_t>(size[1]) * at[2]);
    return true;
  }
};

}  // namespace tofstream::tiled
