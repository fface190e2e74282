// Sums of the strips' EM step as whole numbers, so that they do not depend on the order: 32 bits a block in shared
// memory for usual events, 64 bits in global memory for what blocks add up now and then, and for the few events whose
// addends are too large or too small for that. The scale of the 32 bits comes from a sample of the events.
#pragma once

#include "kernels/math/fixed_point.hpp"
#include "kernels/strip/strip_device.cuh"

namespace tofstream::strip {

/// A usual event's largest addend lies in [2^smallest_log2, 2^largest_log2). About their mean is 2^mean_log2.
inline constexpr int smallest_log2 = 8, mean_log2 = 14, largest_log2 = 21;

/// 64-bit sums of a pass: each pixel's in units of 1, of fractions of it for small events, and of ever larger ones for
/// large events; 1 is 2^-shift of an addend.
struct FixedSums {
  static constexpr int bands = 8, usual_band = 2;

  long long* sums;  // [band][pixel]
  int pixels;

  __device__ static int unit_log2(int band) {
    return band < usual_band ? 22 * (band - usual_band) : 20 * (band - usual_band);
  }
  __device__ void add(int pixel, unsigned sum) const { add_to(usual_band * pixels + pixel, sum); }
  /// Adds any addend; fewer than 2^23 may be as large.
  __device__ void add_exactly(int pixel, double value) const {
    int band = value < 0x1p-7 ? 0 : (value < 1 << smallest_log2 ? 1 : usual_band);
    while (band >= usual_band && band < bands - 1 && ldexp(value, -unit_log2(band)) >= 0x1p40) ++band;
    add_to(band * pixels + pixel, __double2ll_rn(fmin(ldexp(value, -unit_log2(band)), 0x1p62)));
  }
  /// The pixel's sum, which becomes 0.
  __device__ double take(int pixel) const {
    double sum = 0;
    for (int band = bands - 1; band >= 0; --band) {
      sum += ldexp(static_cast<double>(sums[band * pixels + pixel]), unit_log2(band));
      sums[band * pixels + pixel] = 0;
    }
    return sum;
  }

 private:
  __device__ void add_to(int place, long long value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(sums) + place, static_cast<unsigned long long>(value));
  }
};

/// The shift that follows from a histogram of the exponents of samples' largest addends, within the limits of
/// FixedScale. All lanes of a warp call.
__device__ inline int shift_of(const unsigned* histogram) {
  unsigned count = 0, weighted = 0;
  for (unsigned exponent = threadIdx.x % 32; exponent < exponents; exponent += 32) {
    count += histogram[exponent];
    weighted += histogram[exponent] * exponent;
  }
  count = __reduce_add_sync(all_lanes, count);
  weighted = __reduce_add_sync(all_lanes, weighted);
  if (count == 0) return 0;
  return max(-90, min(120, mean_log2 + exponent_bias - mean_exponent(weighted, count)));
}

/// A product whose denormal result stays as it is.
__device__ inline float multiply(float a, float b) {
  float product;
  asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

/// Makes addends: an event's P times of(ratio) is a denormal float whose bits are P * ratio * 2^shift as a whole number
/// (denormal_log2).
struct FixedScale {
  float first, second;

  __device__ explicit FixedScale(int shift) {
    const int all = shift + denormal_log2, of_first = max(all, -120);
    first = ldexpf(1.0f, of_first);
    second = ldexpf(1.0f, all - of_first);
  }
  __device__ float of(float ratio) const { return multiply(multiply(ratio, first), second); }
};

}  // namespace tofstream::strip
// SPDX-License-Identifier: Apache-2.0
