// A tile of a plane in shared memory and its separable blur: how projection and its transpose convolve. Both convolutions
// are sums over blocks of taps that a thread multiplies into many points in registers, so that a number is read from
// shared memory once for up to eight products; kernels of any reach are more blocks.
#pragma once

#include <cuda_pipeline.h>

#include "kernels/spect/footprint_reader.cuh"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

inline constexpr int lanes = 32;
inline constexpr int columns_a_warp = 16;  // that blur_across makes, of two rows a lane
inline constexpr int rows_a_warp = 2 * lanes;
inline constexpr int rows_a_thread = 32;  // that blur_along makes, of a column a lane
inline constexpr int most_threads = 256;

/// Floats of a StagedPlane.
TOFSTREAM_HOST_DEVICE inline int staged_floats(const DeviceKernels& kernels, int wide_columns) {
  return rounded_to_four(2 * kernels.length + 3 * wide_columns);
}

struct RowRange {
  int begin = 0, end = 0;
};

/// Rows [origin, origin + rows) of a tile, of which it makes [begin, end): those whose inputs it holds.
struct RowWindow {
  int origin = 0, begin = 0, end = 0;

  /// The `number`th of those that make the rows `made` out of the rows `given`; `reach` is a multiple of four. Empty
  /// behind the last one.
  TOFSTREAM_HOST_DEVICE RowWindow(int number, int rows, int reach, RowRange made, RowRange given) : end(made.begin) {
    for (int i = 0; i <= number; ++i) {
      begin = end;
      const int from = begin - reach > given.begin ? begin - reach : given.begin;
      origin = (from < begin ? from : begin) & ~3;
      const int top = origin + rows, whole = top >= given.end ? top : top - reach;
      end = whole < made.end ? whole : made.end;
    }
  }
};

/// How a tile of `columns` columns (a multiple of 32) lies in shared memory: rotated planes or a detector in `across`,
/// with what kernels reach on both sides; blurred along u in `along`, with zeros before and after its rows. A column
/// is an odd number of float4 long, so that lanes on different columns use different banks.
template <int rows>
struct PlaneTile {
  static constexpr int across_stride = rows + 4;
  int columns, wide_columns, along_stride, rows_before;

  TOFSTREAM_HOST_DEVICE PlaneTile(const DeviceKernels& kernels, int tile_columns)
      : columns(tile_columns), wide_columns(tile_columns + 2 * kernels.widest_u + (kernels.blur() ? taps_a_block : 0)) {
    rows_before = rounded_to_four(kernels.widest_w);
    along_stride = rows + 2 * rows_before + taps_a_block;
    if (along_stride / 4 % 2 == 0) along_stride += 4;
    if (!kernels.blur()) along_stride = 0;
  }
  TOFSTREAM_HOST_DEVICE int floats() const { return wide_columns * across_stride + columns * along_stride; }
  /// What a kernel asks for: the tile, and two staged planes.
  std::size_t bytes(const DeviceKernels& kernels) const {
    return sizeof(float) * static_cast<std::size_t>(floats() + 2 * staged_floats(kernels, wide_columns));
  }
  TOFSTREAM_HOST_DEVICE int threads() const { return columns / columns_a_warp * (rows / rows_a_warp) * lanes; }
};

/// What a thread makes of a tile.
template <int rows>
struct ThreadPlace {
  int item, threads;
  int across_column, across_row;  // blur_across: the first of columns_a_warp columns, the first of two rows
  int along_column, along_row;    // blur_along: the column, the first of rows_a_thread rows
  int along_warp_column;          // the first column of the warp

  __device__ ThreadPlace() : item(static_cast<int>(threadIdx.x)), threads(static_cast<int>(blockDim.x)) {
    const int warp = item / lanes, lane = item % lanes;
    across_column = warp / (rows / rows_a_warp) * columns_a_warp;
    across_row = warp % (rows / rows_a_warp) * rows_a_warp + 2 * lane;
    along_warp_column = warp / (rows / rows_a_thread) * lanes;
    along_column = along_warp_column + lane;
    along_row = warp % (rows / rows_a_thread) * rows_a_thread;
  }
  /// Whether any row of blur_along is one that the tile makes.
  __device__ bool makes_rows_of(const RowWindow& window) const {
    const int row = window.origin + along_row;
    return row < window.end && row + rows_a_thread > window.begin;
  }
};

/// What a block must know of one of its planes before it turns to it.
struct PlaneOfChunk {
  int begin, end;        // columns of the lattice that meet the image
  int reach_u, reach_w;  // of its kernels

  __device__ int blocks_u() const { return (2 * reach_u + taps_a_block) / taps_a_block; }
  __device__ int blocks_w() const { return (rows_before() + reach_w + taps_a_block) / taps_a_block; }
  __device__ int rows_before() const { return rounded_to_four(reach_w); }
  /// Whether columns [from, to) meet the image.
  __device__ bool meets(int from, int to) const { return begin < to && end > from; }
};

struct TapBlock {
  float weight[taps_a_block];
  __device__ explicit TapBlock(const float* from) {
    for (int i = 0; i < taps_a_block; i += 4) {
      const float4 four = four_at(from, i);
      weight[i] = four.x, weight[i + 1] = four.y, weight[i + 2] = four.z, weight[i + 3] = four.w;
    }
  }
};

/// to[j][0..1] = the kernel's sum over the columns from j on, for columns_a_warp columns j and two rows.
template <int from_stride>
__device__ inline void blur_across(const float* from, const float* weights, int blocks, float* to, int to_stride) {
  float2 sums[columns_a_warp] = {};
  for (int b = 0; b < blocks; ++b) {
    const TapBlock taps(weights + b * taps_a_block);
#pragma unroll
    for (int i = 0; i < columns_a_warp + taps_a_block - 1; ++i) {
      const float2 value = two_at(from + i * from_stride);
#pragma unroll
      for (int t = 0; t < taps_a_block; ++t) {
        const int j = i - t;
        if (j < 0 || j >= columns_a_warp) continue;
        sums[j].x += taps.weight[t] * value.x;
        sums[j].y += taps.weight[t] * value.y;
      }
    }
    from += taps_a_block * from_stride;
  }
#pragma unroll
  for (int j = 0; j < columns_a_warp; ++j) put_two(to + j * to_stride, sums[j]);
}

/// sums[r] = the kernel's sum over the rows from r on, for rows_a_thread rows r.
__device__ inline void blur_along(const float* from, const float* weights, int blocks, float (&sums)[rows_a_thread]) {
#pragma unroll
  for (float& sum : sums) sum = 0;
  for (int b = 0; b < blocks; ++b) {
    const TapBlock taps(weights + b * taps_a_block);
#pragma unroll
    for (int i = 0; i < rows_a_thread + taps_a_block; i += 4) {
      const float4 four = four_at(from, i);
      const float values[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int e = 0; e < 4; ++e)
#pragma unroll
        for (int t = 0; t < taps_a_block; ++t) {
          const int r = i + e - t;
          if (r >= 0 && r < rows_a_thread) sums[r] += taps.weight[t] * values[e];
        }
    }
    from += taps_a_block;
  }
}

/// sums[r] = the rows from r on as they are.
__device__ inline void copy_along(const float* from, float (&sums)[rows_a_thread]) {
#pragma unroll
  for (int i = 0; i < rows_a_thread; i += 4) {
    const float4 four = four_at(from, i);
    sums[i] = four.x, sums[i + 1] = four.y, sums[i + 2] = four.z, sums[i + 3] = four.w;
  }
}

/// Zeros in all of a block's shared memory.
__device__ inline void clear_shared(float* memory, int floats) {
  for (int i = 4 * static_cast<int>(threadIdx.x); i < floats; i += 4 * static_cast<int>(blockDim.x))
    put_four(memory, i, float4{});
}

inline constexpr int most_planes_a_chunk = 16;  // an error of rounding grows with the root of the terms of a sum

/// The planes of the image that a block treats.
struct ChunkOfPlanes {
  int first, count;
  __device__ explicit ChunkOfPlanes(const ViewLattice& lattice) {
    const int all = lattice.last - lattice.first + 1, chunks = static_cast<int>(gridDim.z);
    const int chunk = static_cast<int>(blockIdx.z);
    first = lattice.first + static_cast<int>(static_cast<long long>(all) * chunk / chunks);
    count = lattice.first + static_cast<int>(static_cast<long long>(all) * (chunk + 1) / chunks) - first;
  }
  /// Fills `planes` by the threads of a block, which must then be synchronized.
  __device__ void look_up(const DeviceCamera& camera, int place, PlaneOfChunk* planes) const {
    const int i = static_cast<int>(threadIdx.x);
    if (i >= count) return;
    const int2 range = camera.taps.range[camera.taps.plane(camera.lattice, place, first + i)];
    const int kernel = camera.kernels.radius_of[place] * camera.lattice.planes + first + i;
    planes[i] = {range.x, range.y, camera.kernels.reach_u[kernel], camera.kernels.reach_w[kernel]};
  }
};

/// The kernels of a plane, and the footprints of a tile's columns, in shared memory. They are copied there while the
/// plane before is blurred.
struct StagedPlane {
  float *u, *w;
  float2* beyond;
  int* base;

  __device__ StagedPlane(float* memory, const DeviceKernels& kernels, int wide_columns)
      : u(memory),
        w(u + kernels.length),
        beyond(reinterpret_cast<float2*>(w + kernels.length)),
        base(reinterpret_cast<int*>(beyond + wide_columns)) {}

  /// Begins to copy what belongs to plane k; columns [first, first + count) of the lattice, those beyond it without a
  /// footprint.
  __device__ void begin(const DeviceCamera& camera, int place, int k, int first, int count) const {
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const DeviceKernels& kernels = camera.kernels;
    const std::int64_t kernel =
        (static_cast<std::int64_t>(kernels.radius_of[place]) * camera.lattice.planes + k) * kernels.length;
    if (kernels.blur())
      for (int i = 4 * thread; i < kernels.length; i += 4 * threads) {
        __pipeline_memcpy_async(u + i, kernels.u + kernel + i, sizeof(float4));
        __pipeline_memcpy_async(w + i, kernels.w + kernel + i, sizeof(float4));
      }
    const std::int64_t points = camera.taps.plane(camera.lattice, place, k) * camera.lattice.columns() + first;
    for (int i = thread; i < count; i += threads) {
      if (first + i >= 0 && first + i < camera.lattice.columns()) {
        __pipeline_memcpy_async(beyond + i, camera.taps.beyond + points + i, sizeof(float2));
        __pipeline_memcpy_async(base + i, camera.taps.base + points + i, sizeof(int));
      } else {
        beyond[i] = float2{};
        base[i] = -1;
      }
    }
    __pipeline_commit();
  }
  /// Waits for the thread's copies; the block must then be synchronized.
  __device__ static void wait() { __pipeline_wait_prior(0); }
};

/// How a launch covers the columns and rows that blocks make.
struct TileChoice {
  int rows = 64, columns = lanes, row_tiles = 1, column_tiles = 1;
  std::size_t bytes = 0;  // of shared memory a block
  int threads() const { return columns / columns_a_warp * (rows / rows_a_warp) * lanes; }
};
/// Throws std::invalid_argument for a point spread that no tile holds.
TileChoice choose_tile(const DeviceKernels& kernels, int columns, RowRange made, RowRange given);
/// In how many chunks a launch has the planes of so many views: those that end soonest on a GPU as large as an H200. It
/// is the same on all GPUs, and so is the order of sums.
int chunks_for(const DeviceCamera& camera, const TileChoice& choice, int views);

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
