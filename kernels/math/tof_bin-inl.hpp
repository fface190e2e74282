// The probability that a point on the line is measured in an event's ToF bin: TofKernel's
// bin_integral in single precision, over V. Lengths are in units of the ToF sigma.
#if defined(TOFSTREAM_MATH_TOF_BIN_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_MATH_TOF_BIN_INL
#undef TOFSTREAM_MATH_TOF_BIN_INL
#else
#define TOFSTREAM_MATH_TOF_BIN_INL
#endif

#include "kernels/math/lanes-inl.hpp"
#include "kernels/math/tof.hpp"

TOFSTREAM_LANES_BEGIN

/// One event's ToF bin.
struct TofBin {
  float half_width;  // of the bin, in sigma
  float cut;         // in sigma
  float erf_scale;   // 1 / (2 mass), mass = that of the Gaussian within the cut
  float peak;        // 1 / (sqrt(2 pi) mass)

  TOFSTREAM_HOST_DEVICE static TofBin make(const TofKernel<float>& kernel, float width_mm) {
    return {0.5f * width_mm * kernel.inverse_sigma, kernel.cut_mm * kernel.inverse_sigma, kernel.half_inverse_mass,
            0.79788456f * kernel.half_inverse_mass};
  }
};

/// The integral of the renormalised Gaussian over the bin, seen from a point `z` sigmas from the
/// bin's centre. A difference of error functions loses digits in a narrow bin; there the Gaussian
/// is integrated by its Taylor series about the middle (half width h <= sigma / 2: relative error
/// below 105 h^8 / 9!, 1.2e-6), for one exponential.
template <class V>
TOFSTREAM_HOST_DEVICE inline V bin_integral(const TofBin& bin, V z) {
  const V low = splat<V>(-bin.cut), high = splat<V>(bin.cut), half = splat<V>(bin.half_width);
  const V upper = minimum(maximum(z + half, low), high);
  const V lower = minimum(maximum(z - half, low), high);
  if (bin.half_width > 0.5f) {
    const V root = splat<V>(0.70710678f);
    return splat<V>(bin.erf_scale) * (error_function(upper * root) - error_function(lower * root));
  }
  // Half the overlap of bin and cut, without subtracting two nearly equal numbers.
  const V h = maximum(minimum(splat<V>(minimum(bin.half_width, bin.cut)), splat<V>(0.5f) * (high + half - absolute(z))),
                      splat<V>(0.0f));
  const V middle = splat<V>(0.5f) * (upper + lower);
  const V m = middle * middle, hh = h * h;
  // Hermite polynomials He2, He4, He6 of the middle over 3!, 5!, 7!.
  const V second = mul_add(m, splat<V>(1.0f / 6), splat<V>(-1.0f / 6));
  const V fourth = mul_add(m, mul_add(m, splat<V>(1.0f / 120), splat<V>(-6.0f / 120)), splat<V>(3.0f / 120));
  const V sixth =
      mul_add(m, mul_add(m, mul_add(m, splat<V>(1.0f / 5040), splat<V>(-15.0f / 5040)), splat<V>(45.0f / 5040)),
              splat<V>(-15.0f / 5040));
  const V series = mul_add(hh, mul_add(hh, mul_add(hh, sixth, fourth), second), splat<V>(1.0f));
  return splat<V>(bin.peak) * (h + h) * exponential(splat<V>(-0.5f) * m) * series;
}

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_MATH_TOF_BIN_INL
// SPDX-License-Identifier: Apache-2.0
