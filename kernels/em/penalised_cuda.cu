// The updates of penalised EM and of BSREM on a CUDA device: see map_em_update.hpp and bsrem_update.hpp.
#include "kernels/device/faults.cuh"
#include "kernels/em/bsrem_voxel.hpp"
#include "kernels/em/map_em_voxel.hpp"

namespace tofstream::detail {
namespace {

struct UpdateMapEmVoxel {
  MapEmArrays arrays;
  __device__ VoxelCounts<1> operator()(std::int64_t v) const { return {{map_em_voxel(arrays, v)}}; }
};

struct UpdateBsremVoxel {
  BsremArrays arrays;
  __device__ VoxelCounts<2> operator()(std::int64_t v) const {
    const BsremVoxel here = bsrem_voxel(arrays, v);
    return {{here.not_finite, here.bounded}};
  }
};

}  // namespace

std::int64_t map_em_cuda(const MapEmArrays& arrays, std::int64_t voxels, Stream stream) {
  return change_voxels<1>(UpdateMapEmVoxel{arrays}, voxels, "update the estimate by its surrogate", stream)[0];
}

BsremFaults bsrem_cuda(const BsremArrays& arrays, std::int64_t voxels, Stream stream) {
  const auto found = change_voxels<2>(UpdateBsremVoxel{arrays}, voxels, "update the estimate by BSREM", stream);
  return {found[0], found[1]};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
