// What nested EM does to voxels, shared by CPU and CUDA, and the CUDA entry point. Internal to it.
#pragma once

#include <cfloat>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/dynamic/nested_em.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::detail {

/// A frame that counts.
struct NestedRow {
  const float* back_projection;
  float functions[most_functions];  // B_fm
};

struct NestedArrays {
  float* coefficients[most_functions];
  const NestedRow* rows;  // where the images lie
  const float* inverse_sensitivity;
  float inverse_norm[most_functions];  // of sum_f T_f B_fm
  float uniform;                       // 0: back projections were made at the functions' sum
  int count;                           // of frames
  int inner;
};

/// The coefficients of `lanes` voxels. Loops over lanes are innermost here, for SIMD.
template <int functions, int lanes>
struct VoxelCoefficients {
  float of[functions][lanes];

  TOFSTREAM_HOST_DEVICE static VoxelCoefficients at(const NestedArrays& a, std::int64_t v) {
    VoxelCoefficients read;
    for (int m = 0; m < functions; ++m)
      for (int l = 0; l < lanes; ++l) read.of[m][l] = a.coefficients[m][v + l];
    return read;
  }
  /// sum_m B_fm theta_m
  TOFSTREAM_HOST_DEVICE void frame(const NestedRow& row, float (&sum)[lanes]) const {
    for (int l = 0; l < lanes; ++l) sum[l] = row.functions[0] * of[0][l];
    for (int m = 1; m < functions; ++m)
      for (int l = 0; l < lanes; ++l) sum[l] += row.functions[m] * of[m][l];
  }
  /// Writes them, 0 for a voxel with one that is not finite; how many voxels had one.
  TOFSTREAM_HOST_DEVICE int write(const NestedArrays& a, std::int64_t v) const {
    int replaced = 0;
    for (int l = 0; l < lanes; ++l) {
      bool finite = true;
      for (int m = 0; m < functions; ++m) finite = finite && of[m][l] <= FLT_MAX && of[m][l] >= -FLT_MAX;
      for (int m = 0; m < functions; ++m) a.coefficients[m][v + l] = finite ? of[m][l] : 0.0f;
      replaced += finite ? 0 : 1;
    }
    return replaced;
  }
};

/// T_f x'_f of `lanes` voxels from v on, what EM makes of a frame; `before`: the coefficients that were projected.
template <int functions, int lanes>
TOFSTREAM_HOST_DEVICE inline void em_of_frame(const NestedArrays& a, int frame, std::int64_t v,
                                              const VoxelCoefficients<functions, lanes>& before, float* em) {
  const NestedRow& row = a.rows[frame];
  float projected[lanes];
  before.frame(row, projected);
  if (a.uniform > 0)
    for (int l = 0; l < lanes; ++l) projected[l] = a.uniform;
  for (int l = 0; l < lanes; ++l) em[l] = row.back_projection[v + l] * a.inverse_sensitivity[v + l] * projected[l];
}

/// The inner steps: theta_m <- theta_m / (sum_f T_f B_fm) sum_f B_fm T_f x'_f / (sum_n B_fn theta_n), since the
/// sensitivity of s_f = s T_f cancels. em(f): what em_of_frame() gives.
template <int functions, int lanes, class EmOfFrame>
TOFSTREAM_HOST_DEVICE inline void inner_steps(const NestedArrays& a, VoxelCoefficients<functions, lanes>& theta,
                                              EmOfFrame&& em) {
  for (int step = 0; step < a.inner; ++step) {
    float sum[functions][lanes] = {};
    for (int f = 0; f < a.count; ++f) {
      const float* const of_frame = em(f);
      float now[lanes];
      theta.frame(a.rows[f], now);
      for (int l = 0; l < lanes; ++l) now[l] = of_frame[l] / (now[l] > 0 ? now[l] : 1.0f);
      for (int m = 0; m < functions; ++m)
        for (int l = 0; l < lanes; ++l) sum[m][l] += a.rows[f].functions[m] * now[l];
    }
    for (int m = 0; m < functions; ++m)
      for (int l = 0; l < lanes; ++l) theta.of[m][l] *= a.inverse_norm[m] * sum[m][l];
  }
}

/// use(std::integral_constant<int, functions>) for a number of functions from 1 to most_functions.
template <class Use, int functions = most_functions>
auto with_functions(int count, const Use& use) {
  if constexpr (functions == 1) {
    return use(std::integral_constant<int, 1>());
  } else {
    if (count == functions) return use(std::integral_constant<int, functions>());
    return with_functions<Use, functions - 1>(count, use);
  }
}

/// `rows` on the host; complete on return.
std::int64_t nested_em_cuda(NestedArrays arrays, const std::vector<NestedRow>& rows, int functions, std::int64_t voxels,
                            Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
