// The axis along which a line is longest. Projectors walk the planes, or slices, that lie across it.
#pragma once

#include <cmath>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

/// Which axis is taken where a direction is as long along several.
enum class EqualAxes {
  x_y_z,  // x before y before z: TOR's slices, and the order of sorted events
  y_z_x,  // y before z before x: Joseph's planes (conventions.md, Joseph's line projector)
};

/// 0 for x, 1 for y, 2 for z, by the lengths of the components, in the vector's unit. Always inline: within SIMD code
/// it is compiled for the same instruction set.
template <EqualAxes rule, class T>
[[gnu::always_inline]] TOFSTREAM_HOST_DEVICE inline int dominant_axis(const Vec3Of<T>& direction) {
  constexpr int first = rule == EqualAxes::x_y_z ? 0 : 1, second = (first + 1) % 3, third = (first + 2) % 3;
  const T a = std::abs(direction[first]), b = std::abs(direction[second]), c = std::abs(direction[third]);
  if (a >= b && a >= c) return first;
  return b >= c ? second : third;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
