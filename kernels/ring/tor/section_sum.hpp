// The sum of a radial response over the voxels of one slice that a tube meets, whether they lie in the image or beside
// it: what Normalise::slice divides by. Shared by host and device; the CPU has it in SIMD lanes (tor_kernel.cpp).
#pragma once

#include <cmath>

#include "kernels/math/host_device.hpp"

namespace tofstream::tor {

/// `section`: a Tube, or what else has q_half, shear, row_half2 and row_narrowing as a Tube. The line crosses the slice
/// at column p and row q of a lattice whose origin may be any voxel. weight_at(a, b): the response a columns and b
/// rows from the crossing.
template <class Section, class WeightAt>
TOFSTREAM_HOST_DEVICE inline float section_sum(const Section& section, float p, float q, WeightAt&& weight_at) {
  float sum = 0;
  for (float b = std::ceil(q - section.q_half) - q; b <= section.q_half; b += 1) {
    const float half2 = section.row_half2 - section.row_narrowing * b * b;
    if (half2 < 0) continue;
    const float half = std::sqrt(half2), centre = section.shear * b;
    for (float a = std::ceil(p + centre - half) - p; a <= centre + half; a += 1) sum += weight_at(a, b);
  }
  return sum;
}

/// 1 / sum, or 0 where the response vanishes at all voxels.
TOFSTREAM_HOST_DEVICE inline float slice_factor(float sum) {
  return sum > 0 ? 1 / sum : 0.0f;
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
