// The EM image update on a CUDA device: see em_update.hpp.
#include <algorithm>
#include <cstring>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/device/faults.cuh"
#include "kernels/em/em_voxel.hpp"

namespace tofstream::detail {

namespace {

/// Floats that are not negative compare as the integers of their bits do.
__global__ void find_maximum(const float* s, std::int64_t voxels, unsigned* maximum_bits) {
  unsigned bits = 0;
  for (std::int64_t v = elementwise::element(); v < voxels; v += std::int64_t{gridDim.x} * elementwise::threads)
    bits = max(bits, __float_as_uint(magnitude(s[v])));
  const unsigned maximum = __reduce_max_sync(0xffffffffu, bits);
  if (threadIdx.x % 32 == 0 && maximum > 0) atomicMax(maximum_bits, maximum);
}

__global__ void invert(const float* s, float threshold, float* inverse, std::int64_t voxels) {
  const std::int64_t v = elementwise::element();
  if (v < voxels) inverse[v] = inverse_above(s[v], threshold);
}

__global__ void invert_subset(SubsetArrays arrays, std::int64_t voxels) {
  const std::int64_t v = elementwise::element();
  if (v < voxels) arrays.invert(v);
}

struct UpdateVoxel {
  EmArrays arrays;
  __device__ VoxelCounts<1> operator()(std::int64_t v) const { return {{update_voxel(arrays, v)}}; }
};

struct UpdatePenalisedVoxel {
  PenalisedArrays arrays;
  __device__ VoxelCounts<2> operator()(std::int64_t v) const {
    const VoxelFaults here = update_voxel(arrays, v);
    return {{here.not_finite, here.limited}};
  }
};

}  // namespace

float largest_sensitivity_cuda(const float* s, std::int64_t voxels, Stream stream) {
  auto bits = Buffer<unsigned>::zeros(Memory::device, 1, stream);
  constexpr unsigned most_blocks = 512;  // each warp has an atomic operation on one word
  if (voxels > 0)
    find_maximum<<<std::min(elementwise::blocks(voxels), most_blocks), elementwise::threads, 0, stream>>>(s, voxels,
                                                                                                          bits.data());
  check_launch("find the largest sensitivity");
  const unsigned found = bits.to_vector(stream)[0];
  float maximum = 0;
  std::memcpy(&maximum, &found, sizeof maximum);
  return maximum;
}

void invert_cuda(const float* s, float threshold, float* inverse, std::int64_t voxels, Stream stream) {
  invert<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(s, threshold, inverse, voxels);
  check_launch("invert the sensitivity");
  synchronize(stream);
}

void invert_subset_cuda(const SubsetArrays& arrays, std::int64_t voxels, Stream stream) {
  invert_subset<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels);
  check_launch("invert a subset's sensitivity");
  synchronize(stream);
}

std::int64_t update_cuda(const EmArrays& arrays, std::int64_t voxels, Stream stream) {
  return change_voxels<1>(UpdateVoxel{arrays}, voxels, "update the estimate", stream)[0];
}

UpdateFaults update_cuda(const PenalisedArrays& arrays, std::int64_t voxels, Stream stream) {
  const auto found =
      change_voxels<2>(UpdatePenalisedVoxel{arrays}, voxels, "update the estimate under a penalty", stream);
  return {found[0], found[1]};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
