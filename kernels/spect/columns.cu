// Images to columns along z and back, by tiles in shared memory: see spect_cuda.cuh.
#include "kernels/cuda/check.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

namespace {

constexpr int tile = 32;
constexpr int tile_rows = 16;  // of threads

/// The voxels of a column: where they lie in a slice of the image.
struct Voxel {
  bool has_image;
  int in_slice;
  __device__ Voxel(const ColumnGrid& grid, int column) {
    const int x = column % grid.width() - 1, y = column / grid.width() - 1;
    has_image = grid.has_image(x, y);
    in_slice = y * grid.nx + x;
  }
};

__global__ void to_columns(DeviceRows rows, int row_count, ColumnGrid grid, int stride, const float* image,
                           float* columns) {
  __shared__ float values[tile][tile + 1];
  const Voxel voxel(grid, static_cast<int>(blockIdx.x) * tile + static_cast<int>(threadIdx.x));
#pragma unroll
  for (int j = threadIdx.y; j < tile; j += tile_rows) {
    const int row = static_cast<int>(blockIdx.y) * tile + j;
    float sum = 0;
    if (row < row_count && voxel.has_image)
      for (int e = rows.begin[row]; e < rows.begin[row + 1]; ++e)
        sum += rows.weight[e] * image[static_cast<std::int64_t>(rows.of[e]) * grid.nx * grid.ny + voxel.in_slice];
    values[j][threadIdx.x] = sum;
  }
  __syncthreads();
#pragma unroll
  for (int j = threadIdx.y; j < tile; j += tile_rows) {
    const int to = static_cast<int>(blockIdx.x) * tile + j, row = static_cast<int>(blockIdx.y) * tile + threadIdx.x;
    if (to < grid.columns() && row < stride)
      columns[static_cast<std::int64_t>(to) * stride + row] = values[threadIdx.x][j];
  }
}

__global__ void from_columns(DeviceRows voxels, int z_count, ColumnGrid grid, int stride, const float* columns,
                             float* image) {
  __shared__ float values[tile][tile + 1];
#pragma unroll
  for (int j = threadIdx.y; j < tile; j += tile_rows) {
    const int column = static_cast<int>(blockIdx.x) * tile + j, z = static_cast<int>(blockIdx.y) * tile + threadIdx.x;
    float sum = 0;
    if (z < z_count && Voxel(grid, column).has_image)
      for (int e = voxels.begin[z]; e < voxels.begin[z + 1]; ++e)
        sum += voxels.weight[e] * columns[static_cast<std::int64_t>(column) * stride + voxels.of[e]];
    values[j][threadIdx.x] = sum;
  }
  __syncthreads();
  const Voxel voxel(grid, static_cast<int>(blockIdx.x) * tile + static_cast<int>(threadIdx.x));
#pragma unroll
  for (int j = threadIdx.y; j < tile; j += tile_rows) {
    const int z = static_cast<int>(blockIdx.y) * tile + j;
    if (z < z_count && voxel.has_image)
      image[static_cast<std::int64_t>(z) * grid.nx * grid.ny + voxel.in_slice] += values[threadIdx.x][j];
  }
}

unsigned tiles(int size) {
  return static_cast<unsigned>((size + tile - 1) / tile);
}

}  // namespace

void queue_to_columns(const DeviceRows& rows, int row_count, const ColumnGrid& grid, int stride, const float* image,
                      float* columns, Stream stream) {
  to_columns<<<dim3(tiles(grid.columns()), tiles(stride)), dim3(tile, tile_rows), 0, stream>>>(rows, row_count, grid,
                                                                                               stride, image, columns);
  check_launch("put an image into columns");
}

void queue_from_columns(const DeviceRows& voxels, int z_count, const ColumnGrid& grid, int stride, const float* columns,
                        float* image, Stream stream) {
  from_columns<<<dim3(tiles(grid.columns()), tiles(z_count)), dim3(tile, tile_rows), 0, stream>>>(
      voxels, z_count, grid, stride, columns, image);
  check_launch("add columns to an image");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
