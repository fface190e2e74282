// Sampling of blobs on a CUDA device, a thread a voxel: see blob_to_voxels.hpp.
#include "kernels/blob/blob_sum.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"

namespace tofstream::detail {

namespace {

__global__ void sample(BlobSum sum, const float* coefficients, Grid grid, float* voxels) {
  const std::int64_t v = elementwise::element();
  if (v >= grid.voxels()) return;
  const int i = static_cast<int>(v % grid.size[0]), j = static_cast<int>(v / grid.stride(1) % grid.size[1]);
  voxels[v] = sum.at(coefficients, grid.centre(i, j, static_cast<int>(v / grid.stride(2))));
}

}  // namespace

void sample_blobs_cuda(const BlobSum& sum, const float* coefficients, const Grid& grid, float* voxels, Stream stream) {
  sample<<<elementwise::blocks(grid.voxels()), elementwise::threads, 0, stream>>>(sum, coefficients, grid, voxels);
  check_launch("sample blobs at voxels");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
