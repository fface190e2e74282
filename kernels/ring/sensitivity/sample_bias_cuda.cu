// On a CUDA device: see sample_bias.hpp. Blocks of one size and number add in one order, so the same images give the
// same bits.
#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/ring/sensitivity/sample_bias.hpp"

namespace tofstream::detail {

namespace {

constexpr int bias_threads = 256, bias_blocks = 512;

struct Together {
  __device__ SampleBiasSums operator()(SampleBiasSums a, const SampleBiasSums& b) const {
    a.add(b);
    return a;
  }
};

__global__ void sum_parts(SampleBiasArrays arrays, SampleBiasSums* parts) {
  SampleBiasSums sums;
  for (std::int64_t v = std::int64_t{blockIdx.x} * bias_threads + threadIdx.x; v < arrays.voxels;
       v += std::int64_t{bias_blocks} * bias_threads)
    sums.add_voxel(arrays, v);
  using Reduce = cub::BlockReduce<SampleBiasSums, bias_threads>;
  __shared__ typename Reduce::TempStorage storage;
  sums = Reduce(storage).Reduce(sums, Together());
  if (threadIdx.x == 0) parts[blockIdx.x] = sums;
}

__global__ void remove_from_voxels(SampleBiasArrays arrays, float updates) {
  const std::int64_t v = elementwise::element();
  if (v < arrays.voxels) remove_from_voxel(arrays, updates, v);
}

}  // namespace

SampleBiasSums sample_bias_sums_cuda(const SampleBiasArrays& arrays, Stream stream) {
  Buffer<SampleBiasSums> parts(Memory::device, bias_blocks, stream);
  sum_parts<<<bias_blocks, bias_threads, 0, stream>>>(arrays, parts.data());
  check_launch("sum the estimate over the sensitivity's samples");
  SampleBiasSums total;
  for (const SampleBiasSums& part : parts.to_vector(stream)) total.add(part);
  return total;
}

void remove_sample_bias_cuda(const SampleBiasArrays& arrays, float updates, Stream stream) {
  if (arrays.voxels == 0) return;
  remove_from_voxels<<<elementwise::blocks(arrays.voxels), elementwise::threads, 0, stream>>>(arrays, updates);
  check_launch("take the sensitivity's bias from a back projection");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
