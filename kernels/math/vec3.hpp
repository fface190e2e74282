// Three coordinates in the scanner frame (mm, right-handed, z along the axis), for host and device.
#pragma once

#include <cmath>

#include "kernels/math/host_device.hpp"

namespace tofstream {

template <class T>
struct Vec3Of {
  T x{}, y{}, z{};

  /// Coordinate along axis 0 (x), 1 (y) or 2 (z).
  TOFSTREAM_HOST_DEVICE constexpr T operator[](int axis) const { return axis == 0 ? x : (axis == 1 ? y : z); }
  TOFSTREAM_HOST_DEVICE constexpr void set(int axis, T value) { (axis == 0 ? x : (axis == 1 ? y : z)) = value; }
  template <class U>
  TOFSTREAM_HOST_DEVICE constexpr Vec3Of<U> as() const {
    return {static_cast<U>(x), static_cast<U>(y), static_cast<U>(z)};
  }
  friend constexpr bool operator==(const Vec3Of&, const Vec3Of&) = default;
};

using Vec3 = Vec3Of<float>;
using Vec3d = Vec3Of<double>;

template <class T>
TOFSTREAM_HOST_DEVICE constexpr Vec3Of<T> operator+(Vec3Of<T> a, Vec3Of<T> b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
TOFSTREAM_HOST_DEVICE constexpr Vec3Of<T> operator-(Vec3Of<T> a, Vec3Of<T> b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
TOFSTREAM_HOST_DEVICE constexpr Vec3Of<T> operator*(T s, Vec3Of<T> a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <class T>
TOFSTREAM_HOST_DEVICE constexpr T dot(Vec3Of<T> a, Vec3Of<T> b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
TOFSTREAM_HOST_DEVICE T norm(Vec3Of<T> a) {
  return std::sqrt(dot(a, a));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
