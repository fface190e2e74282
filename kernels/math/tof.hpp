// The ToF response along a line: a Gaussian cut at a number of sigmas and renormalised (conventions.md, the tube of
// response), as a density or integrated over a bin. Distances are mm along the LOR. Shared by host, device and
// references (T = float or double).
#pragma once

#include <cmath>

#include "kernels/math/host_device.hpp"

namespace tofstream {

template <class T>
struct TofKernel {
  T inverse_sigma{};      // 1/mm
  T cut_mm{};             // the response is zero farther away than this from the bin's centre (density) or
                          // beyond cut + half a bin (integral)
  T density_peak{};       // 1/mm, of the renormalised Gaussian
  T half_inverse_mass{};  // 1 / (2 erf(cut / sqrt 2))

  TOFSTREAM_HOST_DEVICE static TofKernel make(T sigma_mm, T cut_sigmas) {
    const T mass = std::erf(cut_sigmas * T(0.70710678118654752));
    return {T(1) / sigma_mm, cut_sigmas * sigma_mm, T(0.39894228040143268) / (sigma_mm * mass), T(0.5) / mass};
  }
  /// Density (1/mm) at `offset_mm` from the centre.
  TOFSTREAM_HOST_DEVICE T density(T offset_mm) const {
    if (!(std::abs(offset_mm) <= cut_mm)) return T(0);
    const T z = offset_mm * inverse_sigma;
    return density_peak * std::exp(T(-0.5) * z * z);
  }
  /// Probability that a point at `offset_mm` from the centre of a bin `width_mm` wide is measured
  /// in that bin: all bins sum to 1.
  TOFSTREAM_HOST_DEVICE T bin_integral(T offset_mm, T width_mm) const {
    const T upper = clamped(offset_mm + T(0.5) * width_mm) * inverse_sigma;
    const T lower = clamped(offset_mm - T(0.5) * width_mm) * inverse_sigma;
    const T r = T(0.70710678118654752);
    return half_inverse_mass * (std::erf(upper * r) - std::erf(lower * r));
  }
  /// The same Gaussian, cut `by_mm` farther out on either side and not renormalised.
  TOFSTREAM_HOST_DEVICE TofKernel widened(T by_mm) const {
    return {inverse_sigma, cut_mm + by_mm, density_peak, half_inverse_mass};
  }

 private:
  TOFSTREAM_HOST_DEVICE T clamped(T x) const { return x < -cut_mm ? -cut_mm : (x > cut_mm ? cut_mm : x); }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
