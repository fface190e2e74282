// The updates of penalised EM and of BSREM on a CUDA device: see map_em_update.hpp and bsrem_update.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/faults.cuh"
#include "kernels/em/bsrem_voxel.hpp"
#include "kernels/em/map_em_voxel.hpp"

namespace tofstream::detail {
namespace {

__global__ void update_map_em(MapEmArrays arrays, std::int64_t voxels, unsigned long long* replaced) {
  const std::int64_t v = elementwise::element();
  count_fault(replaced, v < voxels ? map_em_voxel(arrays, v) : 0);
}

__global__ void update_bsrem(BsremArrays arrays, std::int64_t voxels, unsigned long long* faults) {
  const std::int64_t v = elementwise::element();
  const BsremVoxel here = v < voxels ? bsrem_voxel(arrays, v) : BsremVoxel{};
  count_fault(&faults[0], here.not_finite);
  count_fault(&faults[1], here.bounded);
}

}  // namespace

std::int64_t map_em_cuda(const MapEmArrays& arrays, std::int64_t voxels, Stream stream) {
  Faults<1> replaced;
  if (voxels > 0)
    update_map_em<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels, replaced.words());
  check_launch("update the estimate by its surrogate");
  return replaced.read(stream)[0];
}

BsremFaults bsrem_cuda(const BsremArrays& arrays, std::int64_t voxels, Stream stream) {
  Faults<2> faults;
  if (voxels > 0)
    update_bsrem<<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels, faults.words());
  check_launch("update the estimate by BSREM");
  const auto found = faults.read(stream);
  return {found[0], found[1]};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
