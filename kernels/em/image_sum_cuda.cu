// Sums of images on a CUDA device: see image_sum.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/em/image_sum_voxel.hpp"

namespace tofstream::detail {
namespace {

__global__ void add_differences(DifferenceArrays arrays, std::int64_t voxels) {
  const std::int64_t v = elementwise::element();
  if (v < voxels) add_difference_voxel(arrays, v);
}

}  // namespace

void add_difference_cuda(const DifferenceArrays& arrays, std::int64_t voxels, Stream stream) {
  if (voxels > 0) add_differences<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels);
  check_launch("add images");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
