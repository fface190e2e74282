// The relative change on a CUDA device: see relative_change.hpp.
#include "kernels/device/voxel_sums.cuh"
#include "kernels/em/relative_change_voxel.hpp"

namespace tofstream::detail {
namespace {

struct AddChange {
  ChangeArrays arrays;
  __device__ void operator()(ChangeSums& sums, std::int64_t v) const { sums.add_voxel(arrays, v); }
};

}  // namespace

ChangeSums change_sums_cuda(const ChangeArrays& arrays, Stream stream) {
  return voxel_sums::sum<ChangeSums>(AddChange{arrays}, arrays.voxels, "sum how far an update moved the image", stream);
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
