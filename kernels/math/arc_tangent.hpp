// The angle of a direction without a call of a library, so that loops over many stay in the processor's pipelines. For host
// and device.
#pragma once

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// atan2(y, x) in radians, in (-pi, pi], within 4e-7, and exact for multiples of 45 degrees; 0 for x = y = 0. Abramowitz and
/// Stegun, Handbook of Mathematical Functions, 4.4.49: a polynomial, here of angles up to 22.5 degrees.
TOFSTREAM_HOST_DEVICE inline float arc_tangent(float y, float x) {
  constexpr float pi = 3.14159265f;
  const float along = x < 0 ? -x : x, across = y < 0 ? -y : y;
  const float low = along < across ? along : across, high = along < across ? across : along;
  constexpr float tangent_of_half = 0.41421356f;  // of 22.5 degrees
  const bool is_beyond = low > tangent_of_half * high;
  const float above = is_beyond ? low - high : low, below = is_beyond ? low + high : high;
  const float t = below > 0 ? above / below : 0.0f, t2 = t * t;
  float p = 0.0028662257f;
  p = p * t2 - 0.0161657367f;
  p = p * t2 + 0.0429096138f;
  p = p * t2 - 0.0752896400f;
  p = p * t2 + 0.1065626393f;
  p = p * t2 - 0.1420889944f;
  p = p * t2 + 0.1999355085f;
  p = p * t2 - 0.3333314528f;
  float angle = (is_beyond ? 0.25f * pi : 0.0f) + (t + t * t2 * p);
  if (along < across) angle = 0.5f * pi - angle;
  if (x < 0) angle = pi - angle;
  return y < 0 ? -angle : angle;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
