// What nested EM does to voxels, shared by CPU and CUDA, and the CUDA entry point. Internal to it.
#pragma once

#include <cfloat>
#include <cstdint>
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

/// Updates `lanes` voxels from v on in place; how many of them had a value that was not finite. s_f = s T_f cancels: a
/// step is theta_m <- theta_m / (sum_f T_f B_fm) sum_f B_fm A_f^T(ratio) / s x_f / (sum_n B_fn theta_n).
/// `functions`: how many. Loops over lanes are innermost, for SIMD.
template <int functions, int lanes>
TOFSTREAM_HOST_DEVICE inline int nested_em_voxels(const NestedArrays& a, std::int64_t v) {
  float before[functions][lanes], theta[functions][lanes];
  for (int m = 0; m < functions; ++m)
    for (int l = 0; l < lanes; ++l) before[m][l] = theta[m][l] = a.coefficients[m][v + l];
  const float* const inverse = a.inverse_sensitivity + v;
  for (int step = 0; step < a.inner; ++step) {
    float sum[functions][lanes] = {};
    for (int f = 0; f < a.count; ++f) {
      const NestedRow& row = a.rows[f];
      float was[lanes] = {}, is[lanes] = {};
      for (int m = 0; m < functions; ++m)
        for (int l = 0; l < lanes; ++l) {
          was[l] += row.functions[m] * before[m][l];
          is[l] += row.functions[m] * theta[m][l];
        }
      for (int l = 0; l < lanes; ++l) {
        const float projected_at = a.uniform > 0 ? a.uniform : was[l];
        const float ratio = row.back_projection[v + l] * inverse[l] * projected_at / (is[l] > 0 ? is[l] : 1.0f);
        for (int m = 0; m < functions; ++m) sum[m][l] += row.functions[m] * ratio;
      }
    }
    for (int m = 0; m < functions; ++m)
      for (int l = 0; l < lanes; ++l) theta[m][l] *= a.inverse_norm[m] * sum[m][l];
  }
  int replaced = 0;
  for (int l = 0; l < lanes; ++l) {
    bool finite = true;
    for (int m = 0; m < functions; ++m) finite = finite && theta[m][l] <= FLT_MAX && theta[m][l] >= -FLT_MAX;
    for (int m = 0; m < functions; ++m) a.coefficients[m][v + l] = finite ? theta[m][l] : 0.0f;
    replaced += finite ? 0 : 1;
  }
  return replaced;
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
