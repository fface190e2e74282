// What penalised EM does to one voxel, shared by CPU and CUDA, and the CUDA entry point. Internal to the update.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

struct MapEmArrays {
  float* estimate;
  const float *inverse_sensitivity, *backprojection, *gradient, *curvature, *inverse_whole;
  float inverse_time_fraction, least_ratio;
};

/// Updates one voxel in place; 1 where the value was not finite and became 0, else 0. All is divided by s: e' is EM's
/// product, g' = g / s and c' = c / s, and y solves c' y^2 + (1 + g' - c' x) y - e' = 0.
TOFSTREAM_HOST_DEVICE inline int map_em_voxel(const MapEmArrays& a, std::int64_t v) {
  if (a.inverse_sensitivity[v] < 0) return 0;  // keeps_voxel of em_voxel.hpp
  const float x = a.estimate[v];
  const float em = x * (a.inverse_sensitivity[v] * a.inverse_time_fraction) * a.backprojection[v];
  const float curvature = a.curvature[v] * a.inverse_whole[v];
  const float linear = 1 + a.gradient[v] * a.inverse_whole[v] - curvature * x;
  const float root = std::sqrt(linear * linear + 4 * curvature * em);
  // The positive root has two forms: this takes the one whose terms do not cancel.
  float next = linear > 0 ? 2 * em / (linear + root) : (root - linear) / (2 * curvature);
  if (curvature > 0 && next < a.least_ratio * x) next = a.least_ratio * x;
  const bool finite = next <= FLT_MAX && next >= -FLT_MAX;
  a.estimate[v] = finite ? next : 0.0f;
  return finite ? 0 : 1;
}

std::int64_t map_em_cuda(const MapEmArrays& arrays, std::int64_t voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
