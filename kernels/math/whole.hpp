// Between whole numbers and floating-point ones. A GPU converts at an eighth of the rate at which it adds: there,
// adding 1.5 * 2^52 to a double, or 1.5 * 2^23 to a float, leaves the whole number in the sum's low bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// What is added to a float below 2^22 in size to leave no room for a fraction, and its bits, which are to be taken off
/// those of the sum.
inline constexpr float whole_unit = 0x1.8p23f;
inline constexpr std::uint32_t whole_unit_bits = 0x4b400000u;

/// whole_unit plus the greatest whole number not above x, for |x| < 2^22.
TOFSTREAM_HOST_DEVICE inline float raised_below(float x) {
#ifdef __CUDA_ARCH__
  return __fadd_rd(x, whole_unit);
#else
  return std::floor(x) + whole_unit;
#endif
}

/// whole_unit plus the least whole number not below x, for |x| < 2^22.
TOFSTREAM_HOST_DEVICE inline float raised_above(float x) {
#ifdef __CUDA_ARCH__
  return __fadd_ru(x, whole_unit);
#else
  return std::ceil(x) + whole_unit;
#endif
}

/// The whole number that was raised by whole_unit; as a float it is raised - whole_unit.
TOFSTREAM_HOST_DEVICE inline int whole_of(float raised) {
#ifdef __CUDA_ARCH__
  return __float_as_int(raised) - static_cast<int>(whole_unit_bits);
#else
  return std::bit_cast<std::int32_t>(raised) - static_cast<std::int32_t>(whole_unit_bits);
#endif
}

/// The greatest whole number not above x, for |x| < 2^31.
TOFSTREAM_HOST_DEVICE inline int whole_below(double x) {
#ifdef __CUDA_ARCH__
  return __double2loint(__dadd_rd(x, 0x1.8p52));
#else
  return static_cast<int>(std::floor(x));
#endif
}

/// The least whole number not below x, for |x| < 2^31.
TOFSTREAM_HOST_DEVICE inline int whole_above(double x) {
#ifdef __CUDA_ARCH__
  return __double2loint(__dadd_ru(x, 0x1.8p52));
#else
  return static_cast<int>(std::ceil(x));
#endif
}

/// n, exactly.
TOFSTREAM_HOST_DEVICE inline double as_double(int n) {
#ifdef __CUDA_ARCH__
  // The bits of 2^52 + 2^31 + n.
  return __hiloint2double(0x43300000, static_cast<int>(static_cast<unsigned>(n) ^ 0x80000000u)) - (0x1p52 + 0x1p31);
#else
  return n;
#endif
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
