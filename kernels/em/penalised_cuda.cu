// The updates of penalised EM and of BSREM on a CUDA device: see map_em_update.hpp and bsrem_update.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/em/bsrem_voxel.hpp"
#include "kernels/em/map_em_voxel.hpp"

namespace tofstream::detail {
namespace {

__device__ void add_count(unsigned long long* count, int is_one) {
  const int sum = __syncthreads_count(is_one);
  if (threadIdx.x == 0 && sum > 0) atomicAdd(count, static_cast<unsigned long long>(sum));
}

__global__ void update_map_em(MapEmArrays arrays, std::int64_t voxels, unsigned long long* replaced) {
  const std::int64_t v = elementwise::element();
  add_count(replaced, v < voxels ? map_em_voxel(arrays, v) : 0);
}

__global__ void update_bsrem(BsremArrays arrays, std::int64_t voxels, unsigned long long* faults) {
  const std::int64_t v = elementwise::element();
  const BsremVoxel here = v < voxels ? bsrem_voxel(arrays, v) : BsremVoxel{};
  add_count(&faults[0], here.not_finite);
  add_count(&faults[1], here.bounded);
}

}  // namespace

std::int64_t map_em_cuda(const MapEmArrays& arrays, std::int64_t voxels, Stream stream) {
  auto replaced = Buffer<unsigned long long>::zeros(Memory::device, 1, stream);
  if (voxels > 0)
    update_map_em<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels, replaced.data());
  check_launch("update the estimate by its surrogate");
  return static_cast<std::int64_t>(replaced.to_vector(stream)[0]);
}

BsremFaults bsrem_cuda(const BsremArrays& arrays, std::int64_t voxels, Stream stream) {
  auto faults = Buffer<unsigned long long>::zeros(Memory::device, 2, stream);
  if (voxels > 0)
    update_bsrem<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels, faults.data());
  check_launch("update the estimate by BSREM");
  const auto found = faults.to_vector(stream);
  return {static_cast<std::int64_t>(found[0]), static_cast<std::int64_t>(found[1])};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
