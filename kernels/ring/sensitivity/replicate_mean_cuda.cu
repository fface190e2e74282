// Sums and means on a CUDA device: see replicate_mean.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/device/voxel_sums.cuh"
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

struct AddSpread {
  const float *mean, *deviations;
  __device__ void operator()(SpreadSums& sums, std::int64_t v) const { sums.add_voxel(mean[v], deviations[v]); }
};

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
  return voxel_sums::sum<SpreadSums>(AddSpread{mean, deviations}, voxels,
                                     "sum the spread of a sensitivity's replicates", stream);
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
