// RAMLA's update on a CUDA device: see ramla_update.hpp.
#include <cstring>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/em/em_voxel.hpp"
#include "kernels/em/ramla_voxel.hpp"

namespace tofstream::detail {

namespace {

/// found[0]: bits of the largest sensitivity, found[1]: how many values became 0.
__global__ void update_ramla(RamlaArrays arrays, std::int64_t voxels, unsigned long long* found) {
  const float maximum = __uint_as_float(static_cast<unsigned>(found[0]));
  if (!RamlaFactors::can_be(maximum)) return;
  const RamlaFactors factors(arrays, maximum);
  const std::int64_t v = elementwise::element();
  const int bad = v < voxels ? ramla_voxel(arrays, factors, v) : 0;
  const int sum = __syncthreads_count(bad);
  if (threadIdx.x == 0 && sum > 0) atomicAdd(found + 1, static_cast<unsigned long long>(sum));
}

}  // namespace

RamlaFound ramla_update_cuda(const RamlaArrays& arrays, std::int64_t voxels, Stream stream) {
  auto found = Buffer<unsigned long long>::zeros(Memory::device, 2, stream);
  queue_maximum_cuda(arrays.sensitivity, voxels, reinterpret_cast<unsigned*>(found.data()), stream);
  if (voxels > 0)
    update_ramla<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels, found.data());
  check_launch("update the estimate by RAMLA");
  const std::vector<unsigned long long> words = found.to_vector(stream);
  const auto bits = static_cast<unsigned>(words[0]);
  RamlaFound result{0, static_cast<std::int64_t>(words[1])};
  std::memcpy(&result.maximum, &bits, sizeof bits);
  return result;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
