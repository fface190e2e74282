// What BSREM does to one voxel, shared by CPU and CUDA, and the CUDA entry point. Internal to the update.
#pragma once

#include <cfloat>
#include <cstdint>

#include "kernels/em/bsrem_update.hpp"
#include "kernels/math/host_device.hpp"

namespace tofstream::detail {

struct BsremArrays {
  float* estimate;
  const float *inverse, *inverse_whole, *back_projection;
  const float* gradient;  // null: none
  float inverse_time_fraction, step, offset;
  float bound, highest;  // FLT_MAX: none
};

struct BsremVoxel {
  bool not_finite = false;  // and became 0
  bool bounded = false;
};

/// Updates one voxel in place.
TOFSTREAM_HOST_DEVICE inline BsremVoxel bsrem_voxel(const BsremArrays& a, std::int64_t v) {
  const float inverse = a.inverse[v], inverse_whole = a.inverse_whole[v];
  if (inverse < 0) return {};  // keeps_voxel of em_voxel.hpp
  if (!(inverse > 0 && inverse_whole > 0)) {
    a.estimate[v] = 0;
    return {};
  }
  const float x = a.estimate[v], share = inverse_whole / inverse;
  const float penalty = a.gradient ? a.gradient[v] * inverse_whole : 0.0f;
  const float rise = a.back_projection[v] * inverse * a.inverse_time_fraction - 1 - penalty;
  const float next = x + a.step * share * (x + a.offset) * rise;
  if (!(next <= FLT_MAX && next >= -FLT_MAX)) {
    a.estimate[v] = 0;
    return {.not_finite = true};
  }
  const float above = a.bound * inverse_whole, highest = above < a.highest ? above : a.highest;
  a.estimate[v] = next > 0 ? (next < highest ? next : highest) : 0.0f;
  return {.bounded = next > highest};
}

BsremFaults bsrem_cuda(const BsremArrays& arrays, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
