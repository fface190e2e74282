// Sums in fixed point: how floats become whole numbers of a common unit, a power of two, which the exponents of a
// sample of them decide. Sums of whole numbers do not depend on the order.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// Exponents as the bits of a float have them: 0 for zero and denormal numbers, 255 for infinities and what is no
/// number. A number of exponent e is in [2^(e - exponent_bias), 2^(e + 1 - exponent_bias)).
inline constexpr int exponents = 256, exponent_bias = 127;
/// A denormal float's bits are a whole number of 2^denormal_log2: a product that is scaled to be one comes out of its
/// multiplication as a fixed-point number, rounded to nearest.
inline constexpr int denormal_log2 = -149;

TOFSTREAM_HOST_DEVICE inline unsigned exponent_of(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value) >> 23 & 0xffu;
#else
  return std::bit_cast<std::uint32_t>(value) >> 23 & 0xffu;
#endif
}

/// The mean of `count` exponents whose sum is `sum`, to the nearest whole number, halves up; `count` is not 0. Scales
/// of fixed-point sums are chosen about it.
template <class Sum>
TOFSTREAM_HOST_DEVICE inline int mean_exponent(Sum sum, unsigned count) {
  return static_cast<int>((sum + count / 2) / count);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
