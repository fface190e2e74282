// Images as columns along z, for two_stage on CUDA, and back: see two_stage_cuda.cuh. A block turns some neighbouring
// columns over in shared memory, and reads all of its values before it waits for any.
#include "kernels/cuda/chain.cuh"
#include "kernels/direct/two_stage_cuda.cuh"

namespace tofstream::two_stage {

namespace {

constexpr int turned_columns = 32, turned_rows = 64, turning_threads = 256;  // of a block
constexpr int turning_warps = turning_threads / turned_columns, rows_of_thread = turned_rows / turning_warps;
constexpr int turned_fours = turned_rows / 4, fours_of_thread = turned_columns * turned_fours / turning_threads;

/// A block's values. Neighbouring rows, and every fourth of them, lie in different banks.
using Turned = float[turned_rows][turned_columns + 1];

/// What a thread has of the block's values: of rows of an image, and of fours of columns.
struct TurnedShare {
  int first_column, first_row, lane, warp;

  __device__ TurnedShare()
      : first_column(static_cast<int>(blockIdx.x) * turned_columns),
        first_row(static_cast<int>(blockIdx.y) * turned_rows),
        lane(static_cast<int>(threadIdx.x) % turned_columns),
        warp(static_cast<int>(threadIdx.x) / turned_columns) {}
  __device__ int row(int n) const { return warp + n * turning_warps; }
  __device__ int column_of_four(int n) const {
    return (static_cast<int>(threadIdx.x) + n * turning_threads) / turned_fours;
  }
  __device__ int row_of_four() const { return 4 * (static_cast<int>(threadIdx.x) % turned_fours); }
};

__global__ void __launch_bounds__(turning_threads)
    to_columns(const float* images, std::int64_t image_size, int columns, int voxels, StageColumns to) {
  __shared__ Turned values;
  chain::wait_for_those_before();
  const TurnedShare share;
  const int slot = static_cast<int>(blockIdx.z), column = share.first_column + share.lane;
  const float* const image = images + slot * image_size + column;
  float mine[rows_of_thread];
#pragma unroll
  for (int n = 0; n < rows_of_thread; ++n) {
    const int z = share.first_row + share.row(n);
    const bool is_there = z < voxels && column < columns;
    mine[n] = !is_there ? 0.0f : images ? image[std::int64_t{z} * columns] : 1.0f;
  }
#pragma unroll
  for (int n = 0; n < rows_of_thread; ++n) values[share.row(n)][share.lane] = mine[n];
  __syncthreads();
  const int row = share.row_of_four();
  if (share.first_row + row >= to.stride) return;
#pragma unroll
  for (int n = 0; n < fours_of_thread; ++n) {
    const int c = share.column_of_four(n), at = share.first_column + c;
    if (at < columns)
      *reinterpret_cast<float4*>(to.at(slot, at) + share.first_row + row) = {values[row][c], values[row + 1][c],
                                                                             values[row + 2][c], values[row + 3][c]};
  }
}

/// images[slot] (+)= the sum of so many columns from the slot's on.
template <bool adds>
__global__ void __launch_bounds__(turning_threads)
    from_columns(StageColumns from, int columns, int voxels, int sums, float* images, std::int64_t image_size) {
  __shared__ Turned values;
  chain::wait_for_those_before();
  const TurnedShare share;
  const int slot = static_cast<int>(blockIdx.z), column = share.first_column + share.lane;
  float* const image = images + slot * image_size + column;
  float before[rows_of_thread] = {};
  if (adds && column < columns)
#pragma unroll
    for (int n = 0; n < rows_of_thread; ++n)
      if (share.first_row + share.row(n) < voxels)
        before[n] = image[std::int64_t{share.first_row + share.row(n)} * columns];
  const int row = share.row_of_four();
  if (share.first_row + row < from.stride) {
    float4 sum[fours_of_thread] = {};
    for (int part = 0; part < sums; ++part)
#pragma unroll
      for (int n = 0; n < fours_of_thread; ++n) {
        const int at = share.first_column + share.column_of_four(n);
        if (at >= columns) continue;
        const float4 four = *reinterpret_cast<const float4*>(from.at(slot + part, at) + share.first_row + row);
        sum[n].x += four.x, sum[n].y += four.y, sum[n].z += four.z, sum[n].w += four.w;
      }
#pragma unroll
    for (int n = 0; n < fours_of_thread; ++n) {
      const int c = share.column_of_four(n);
      values[row][c] = sum[n].x, values[row + 1][c] = sum[n].y;
      values[row + 2][c] = sum[n].z, values[row + 3][c] = sum[n].w;
    }
  }
  __syncthreads();
  if (column >= columns) return;
#pragma unroll
  for (int n = 0; n < rows_of_thread; ++n) {
    const int z = share.first_row + share.row(n);
    if (z < voxels) image[std::int64_t{z} * columns] = before[n] + values[share.row(n)][share.lane];
  }
}

dim3 turning_blocks(const Grid& grid, int slots) {
  return {parts(grid.stride(2), turned_columns), parts(to_four(grid.size[2]), turned_rows),
          static_cast<unsigned>(slots)};
}

}  // namespace

void queue_to_columns(const float* images, const Grid& grid, int slots, const StageColumns& to, Stream stream) {
  chain::launch("put images into columns", to_columns, turning_blocks(grid, slots), turning_threads, 0, stream, images,
                grid.voxels(), static_cast<int>(grid.stride(2)), grid.size[2], to);
}

void queue_from_columns(const StageColumns& from, const Grid& grid, int slots, float* images, Stream stream) {
  chain::launch("put columns into images", from_columns<false>, turning_blocks(grid, slots), turning_threads, 0, stream,
                from, static_cast<int>(grid.stride(2)), grid.size[2], 1, images, grid.voxels());
}

void queue_add_columns(const StageColumns& from, const Grid& grid, int slots, float* image, Stream stream) {
  chain::launch("add columns to an image", from_columns<true>, turning_blocks(grid, 1), turning_threads, 0, stream,
                from, static_cast<int>(grid.stride(2)), grid.size[2], slots, image, grid.voxels());
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
