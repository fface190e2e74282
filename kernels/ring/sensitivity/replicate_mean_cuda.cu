// Sums and means on a CUDA device: see replicate_mean.hpp.
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

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
