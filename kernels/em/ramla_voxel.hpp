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

/// Updates one voxel in place; 1 where the value was not finite and became 0, else 0.
TOFSTREAM_HOST_DEVICE inline int ramla_voxel(const RamlaArrays& a, std::int64_t v) {
  if (a.inverse[v] < 0) return 0;  // keeps_voxel of em_voxel.hpp
  if (a.inverse[v] == 0) {
    a.estimate[v] = 0;
    return 0;
  }
  // Factors are not negative, and neither is their sum, which rounding does not change.
  const float kept = 1 - a.of_sensitivity * a.sensitivity[v];
  const float next = a.estimate[v] * ((kept > 0 ? kept : 0) + a.of_back_projection * a.back_projection[v]);
  const bool finite = next <= FLT_MAX && next >= -FLT_MAX;
  a.estimate[v] = finite ? next : 0.0f;
  return finite ? 0 : 1;
}

std::int64_t ramla_update_cuda(const RamlaArrays& arrays, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
