// The quadratic penalty on a CUDA device: see quadratic_prior.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/prior/quadratic_voxel.hpp"

namespace tofstream::detail {
namespace {

__global__ void differentiate(QuadraticArrays arrays, std::int64_t voxels) {
  const std::int64_t v = elementwise::element();
  if (v < voxels) arrays.differentiate(v);
}

}  // namespace

void differentiate_cuda(const QuadraticArrays& arrays, std::int64_t voxels, Stream stream) {
  if (voxels > 0) differentiate<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels);
  check_launch("differentiate the penalty");
  synchronize(stream);
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
