// What the EM update does to one voxel, shared by CPU and CUDA, and the CUDA entry points. Internal
// to the update.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/em/em_update.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

struct EmArrays {
  float* estimate;
  const float* inverse_sensitivity;
  const float* backprojection;
  float inverse_time_fraction;
};

/// The value of s that goes into a maximum which shows whether any value is not finite: infinity for infinity and NaN,
/// 0 for negative values, which are no sensitivity.
TOFSTREAM_HOST_DEVICE inline float magnitude(float s) {
  if (!(s <= FLT_MAX && s >= -FLT_MAX)) return INFINITY;
  return s > 0 ? s : 0.0f;
}

TOFSTREAM_HOST_DEVICE inline float inverse_above(float s, float threshold) {
  if (!(s > 0 && s >= threshold)) return 0.0f;
  const float inverse = 1.0f / s;
  return inverse <= FLT_MAX ? inverse : 0.0f;  // s may be subnormal
}

/// Stands for 1/s of a voxel that a subset does not see, though the whole does: the update leaves it as it is.
inline constexpr float keeps_voxel = -1;

/// Updates one voxel in place; 1 where the product was not finite and became 0, else 0.
TOFSTREAM_HOST_DEVICE inline int update_voxel(const EmArrays& a, std::int64_t v) {
  if (a.inverse_sensitivity[v] < 0) return 0;  // keeps_voxel
  const float product = a.estimate[v] * (a.inverse_sensitivity[v] * a.inverse_time_fraction) * a.backprojection[v];
  const bool finite = product <= FLT_MAX && product >= -FLT_MAX;
  a.estimate[v] = finite ? product : 0.0f;
  return finite ? 0 : 1;
}

struct PenalisedArrays {
  EmArrays em;
  const float* gradient;
  const float* inverse_whole;  // 1/s of the whole
};

/// What a penalty leaves of a voxel's sensitivity at least.
inline constexpr float least_share = 0.1f;

struct VoxelFaults {
  bool not_finite = false;  // and became 0
  bool limited = false;     // by least_share
};

/// Updates one voxel in place. A subset's sensitivity s_k and its part of the gradient, g s_k/s, sum to s_k (1 + g/s).
TOFSTREAM_HOST_DEVICE inline VoxelFaults update_voxel(const PenalisedArrays& a, std::int64_t v) {
  if (a.em.inverse_sensitivity[v] < 0) return {};  // keeps_voxel
  const float share = 1 + a.gradient[v] * a.inverse_whole[v];
  const bool limited = !(share >= least_share);
  const float inverse = a.em.inverse_sensitivity[v] * a.em.inverse_time_fraction;
  const float product = a.em.estimate[v] * inverse * a.em.backprojection[v] / (limited ? least_share : share);
  const bool finite = share <= FLT_MAX && product <= FLT_MAX && product >= -FLT_MAX;
  a.em.estimate[v] = finite ? product : 0.0f;
  return {!finite, limited};
}

/// Sensitivities of a subset and of the whole, and what becomes 1/s. A subset is compared with the whole voxel by
/// voxel, so that at least one of up to 1 / fraction subsets sees each voxel that the whole sees.
struct SubsetArrays {
  const float *own, *whole;
  float fraction, whole_threshold;
  float* inverse;

  TOFSTREAM_HOST_DEVICE void invert(std::int64_t v) const {
    const bool is_seen = inverse_above(whole[v], whole_threshold) > 0;
    const float own_inverse = inverse_above(own[v], fraction * whole[v]);
    inverse[v] = !is_seen ? 0.0f : own_inverse > 0 ? own_inverse : keeps_voxel;
  }
};

float largest_sensitivity_cuda(const float* s, std::int64_t voxels, Stream stream);
void invert_cuda(const float* s, float threshold, float* inverse, std::int64_t voxels, Stream stream);
void invert_subset_cuda(const SubsetArrays& arrays, std::int64_t voxels, Stream stream);
std::int64_t update_cuda(const EmArrays& arrays, std::int64_t voxels, Stream stream);
UpdateFaults update_cuda(const PenalisedArrays& arrays, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
