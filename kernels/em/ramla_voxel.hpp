// What RAMLA does to one voxel, shared by CPU and CUDA, and the CUDA entry point. Internal to the update.
#pragma once

#include <cfloat>
#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

struct RamlaArrays {
  float* estimate;
  const float *sensitivity, *inverse, *back_projection;
  float of_sensitivity;      // relaxation / max s: l T_k / T
  float of_back_projection;  // l
};

/// What an update reads of a voxel.
struct RamlaVoxel {
  float estimate = 0, sensitivity = 0, inverse = 0, back_projection = 0;

  TOFSTREAM_HOST_DEVICE static RamlaVoxel of(const RamlaArrays& a, std::int64_t v) {
    return {a.estimate[v], a.sensitivity[v], a.inverse[v], a.back_projection[v]};
  }
};

/// What becomes of the estimate; counts in `replaced` a value that was not finite and became 0.
TOFSTREAM_HOST_DEVICE inline float ramla_voxel(const RamlaVoxel& voxel, const RamlaArrays& factors, int& replaced) {
  if (voxel.inverse < 0) return voxel.estimate;  // keeps_voxel of em_voxel.hpp
  if (voxel.inverse == 0) return 0;
  // Factors are not negative, and neither is their sum, which rounding does not change.
  const float kept = 1 - factors.of_sensitivity * voxel.sensitivity;
  const float next = voxel.estimate * ((kept > 0 ? kept : 0) + factors.of_back_projection * voxel.back_projection);
  const bool finite = next <= FLT_MAX && next >= -FLT_MAX;
  replaced += finite ? 0 : 1;
  return finite ? next : 0.0f;
}

std::int64_t ramla_update_cuda(const RamlaArrays& arrays, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
