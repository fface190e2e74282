// On a CUDA device: see sample_bias.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/device/voxel_sums.cuh"
#include "kernels/ring/sensitivity/sample_bias.hpp"

namespace tofstream::detail {

namespace {

struct AddSamples {
  SampleBiasArrays arrays;
  __device__ void operator()(SampleBiasSums& sums, std::int64_t v) const { sums.add_voxel(arrays, v); }
};

__global__ void remove_from_voxels(SampleBiasArrays arrays, float updates) {
  const std::int64_t v = elementwise::element();
  if (v < arrays.voxels) remove_from_voxel(arrays, updates, v);
}

}  // namespace

SampleBiasSums sample_bias_sums_cuda(const SampleBiasArrays& arrays, Stream stream) {
  return voxel_sums::sum<SampleBiasSums>(AddSamples{arrays}, arrays.voxels,
                                         "sum the estimate over the sensitivity's samples", stream);
}

void remove_sample_bias_cuda(const SampleBiasArrays& arrays, float updates, Stream stream) {
  if (arrays.voxels == 0) return;
  remove_from_voxels<<<elementwise::blocks(arrays.voxels), elementwise::threads, 0, stream>>>(arrays, updates);
  check_launch("take the sensitivity's bias from a back projection");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
