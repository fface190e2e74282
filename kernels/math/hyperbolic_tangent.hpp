// tanh and what follows from it without branches and calls, so that compilers make SIMD of a loop over floats.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// From here on tanh is 1 to a float's precision. The functions below take floats up to it, and other numbers of any size.
inline constexpr float farthest_tangent = 9;

namespace detail {

/// tanh(u / 2) = n / q with n = u p(u^2) and q(u^2). tanh(u) = 2 n q / (q^2 + n^2) loses little where this comes near 1, so
/// that two coefficients each are enough. They are our own, by Lawson's iteration for the relative error of tanh(u), which
/// is 2e-7, and 5e-7 with rounding.
struct HalfTangent {
  float p, q, n, inverse;  // 1 / (q^2 + n^2)

  TOFSTREAM_HOST_DEVICE explicit HalfTangent(float u) {
    const float w = u * u;
    p = 0.5f + w * (0.01350503f + w * 2.7497164e-05f);
    q = 1.0f + w * (0.110342495f + w * 0.00091765675f);
    n = u * p;
    inverse = 1 / (q * q + n * n);
  }
};

}  // namespace detail

/// tanh(u)
template <class T>
TOFSTREAM_HOST_DEVICE T hyperbolic_tangent(T u) {
  if constexpr (std::is_same_v<T, float>) {
    const detail::HalfTangent half(u);
    return (half.n + half.n) * half.q * half.inverse;
  } else {
    return std::tanh(u);
  }
}

/// tanh(u) / u, 1 for u = 0
template <class T>
TOFSTREAM_HOST_DEVICE T hyperbolic_tangent_over_argument(T u) {
  if constexpr (std::is_same_v<T, float>) {
    const detail::HalfTangent half(u);
    return (half.p + half.p) * half.q * half.inverse;
  } else {
    return std::abs(u) < static_cast<T>(1e-8) ? T(1) : std::tanh(u) / u;
  }
}

/// 1 / cosh(u)^2, the derivative of tanh; of a float to 6e-7
template <class T>
TOFSTREAM_HOST_DEVICE T hyperbolic_tangent_slope(T u) {
  T inverse_cosine;
  if constexpr (std::is_same_v<T, float>) {
    const detail::HalfTangent half(u);
    inverse_cosine = (half.q * half.q - half.n * half.n) * half.inverse;
  } else {
    inverse_cosine = 1 / std::cosh(u);
  }
  return inverse_cosine * inverse_cosine;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
