// RAMLA's update on a CUDA device: see ramla_update.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/em/ramla_voxel.hpp"

namespace tofstream::detail {

namespace {

__global__ void update_ramla(RamlaArrays arrays, std::int64_t voxels, unsigned long long* replaced) {
  const std::int64_t v = elementwise::element();
  const int bad = v < voxels ? ramla_voxel(arrays, v) : 0;
  const int sum = __syncthreads_count(bad);
  if (threadIdx.x == 0 && sum > 0) atomicAdd(replaced, static_cast<unsigned long long>(sum));
}

}  // namespace

std::int64_t ramla_update_cuda(const RamlaArrays& arrays, std::int64_t voxels, Stream stream) {
  auto replaced = Buffer<unsigned long long>::zeros(Memory::device, 1, stream);
  if (voxels > 0)
    update_ramla<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels, replaced.data());
  check_launch("update the estimate by RAMLA");
  return static_cast<std::int64_t>(replaced.to_vector(stream)[0]);
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
