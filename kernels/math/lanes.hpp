// Elementary functions of one number (float or double), for host and device. lanes-inl.hpp gives
// the same names to SIMD vectors, so that a voxel's math is written once for both.
#pragma once

#include <cmath>
#include <concepts>

#include "kernels/math/host_device.hpp"

namespace tofstream {

template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T mul_add(T a, T b, T c) {
  return a * b + c;
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T minimum(T a, T b) {
  return b < a ? b : a;
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T maximum(T a, T b) {
  return a < b ? b : a;
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T round_down(T a) {
  return std::floor(a);
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T absolute(T a) {
  return std::abs(a);
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T square_root(T a) {
  return std::sqrt(a);
}
/// 1 / sqrt(a), for a > 0.
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T reciprocal_square_root(T a) {
#ifdef __CUDA_ARCH__
  return rsqrt(a);
#else
  return T(1) / std::sqrt(a);
#endif
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T exponential(T a) {
  return std::exp(a);
}
/// 2^a, for a in [-120, 120].
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T power_of_two(T a) {
  return std::exp2(a);
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T error_function(T a) {
  return std::erf(a);
}
/// 1 - erf(a), for a in [0, 4].
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T error_function_complement(T a) {
  return std::erfc(a);
}
/// a < b: a bool, or a mask of lanes, as select() takes it.
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline bool less(T a, T b) {
  return a < b;
}
/// True where the condition holds in no lane.
TOFSTREAM_HOST_DEVICE inline bool none_of(bool condition) {
  return !condition;
}
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}
/// 0 where the condition holds, else the value.
template <std::floating_point T>
TOFSTREAM_HOST_DEVICE inline T zero_where(bool condition, T value) {
  return condition ? T(0) : value;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
