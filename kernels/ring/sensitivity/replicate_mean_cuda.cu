// Sums and means on a CUDA device: see replicate_mean.hpp. Blocks of one size and number add in one order, so the same
// images give the same bits.
#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/ring/sensitivity/replicate_mean.hpp"

namespace tofstream::detail {

namespace {

__global__ void end_each_batch(ReplicateArrays arrays, std::int64_t voxels) {
  const std::int64_t v = elementwise::element();
  if (v < voxels) arrays.end_batch(v);
}

__global__ void end_each_replicate(ReplicateArrays arrays, SymmetryGroup symmetries, std::int64_t voxels) {
  const std::int64_t v = elementwise::element();
  if (v < voxels) arrays.end_replicate(symmetries, v);
}

constexpr int spread_threads = 256, spread_blocks = 512;

struct AddSpreads {
  __device__ SpreadSums operator()(SpreadSums a, const SpreadSums& b) const {
    a.add(b);
    return a;
  }
};

__global__ void sum_spreads(const float* mean, const float* deviations, std::int64_t voxels, SpreadSums* parts) {
  SpreadSums sums;
  for (std::int64_t v = std::int64_t{blockIdx.x} * spread_threads + threadIdx.x; v < voxels;
       v += std::int64_t{spread_blocks} * spread_threads)
    sums.add_voxel(mean[v], deviations[v]);
  using Reduce = cub::BlockReduce<SpreadSums, spread_threads>;
  __shared__ typename Reduce::TempStorage storage;
  sums = Reduce(storage).Reduce(sums, AddSpreads());
  if (threadIdx.x == 0) parts[blockIdx.x] = sums;
}

}  // namespace

void end_batch_cuda(const ReplicateArrays& arrays, std::int64_t voxels, Stream stream) {
  if (voxels == 0) return;
  end_each_batch<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels);
  check_launch("add a batch to the sensitivity");
}

void end_replicate_cuda(const ReplicateArrays& arrays, const SymmetryGroup& symmetries, std::int64_t voxels,
                        Stream stream) {
  if (voxels == 0) return;
  end_each_replicate<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, symmetries, voxels);
  check_launch("add a replicate to the sensitivity");
}

SpreadSums spread_sums_cuda(const float* mean, const float* deviations, std::int64_t voxels, Stream stream) {
  Buffer<SpreadSums> parts(Memory::device, spread_blocks, stream);
  sum_spreads<<<spread_blocks, spread_threads, 0, stream>>>(mean, deviations, voxels, parts.data());
  check_launch("sum the spread of a sensitivity's replicates");
  SpreadSums total;
  for (const SpreadSums& part : parts.to_vector(stream)) total.add(part);
  return total;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
