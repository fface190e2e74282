// Interpolation in a coarse scatter estimate: see scatter.hpp.
#pragma once

#include "kernels/math/lanes.hpp"
#include "kernels/ring/correct/scatter.hpp"

namespace tofstream {

namespace detail {

/// `value` kept within [low, high].
TOFSTREAM_HOST_DEVICE inline int within(int value, int low, int high) {
  return value < low ? low : (value > high ? high : value);
}

/// Two neighbouring samples and the share of the second.
struct Bracket {
  int first, second;
  float share;
  TOFSTREAM_HOST_DEVICE Bracket reversed(int count) const { return {count - 1 - first, count - 1 - second, share}; }
};

/// The samples about a position (mm) along an axis of `count` samples about 0, kept within them.
TOFSTREAM_HOST_DEVICE inline Bracket bracket(float value, float spacing, int count) {
  const float position = value / spacing + 0.5f * static_cast<float>(count - 1);
  const float inside = minimum(maximum(position, 0.0f), static_cast<float>(count - 1));
  const int last = count - 1, first = within(static_cast<int>(inside), 0, last > 0 ? last - 1 : 0);
  return {first, within(first + 1, 0, last), inside - static_cast<float>(first)};
}

/// a for share 0 and b for share 1, exactly.
TOFSTREAM_HOST_DEVICE inline float between(float a, float b, float share) {
  return (1 - share) * a + share * b;
}

/// Multilinear interpolation at one angle.
TOFSTREAM_HOST_DEVICE inline float scatter_at_angle(const ScatterView& e, int angle, const Bracket& s, const Bracket& a,
                                                    const Bracket& b, const Bracket& t) {
  const auto line = [&](int za, int zb, int tof) {
    const std::int64_t plane = (std::int64_t{tof} * e.size[3] + zb) * e.size[2] + za;
    const float* const row = e.values + (plane * e.size[1] + angle) * e.size[0];
    return between(row[s.first], row[s.second], s.share);
  };
  const auto plane = [&](int zb, int tof) { return between(line(a.first, zb, tof), line(a.second, zb, tof), a.share); };
  const auto volume = [&](int tof) { return between(plane(b.first, tof), plane(b.second, tof), b.share); };
  return between(volume(t.first), volume(t.second), t.share);
}

}  // namespace detail

/// As scatter_at of an estimate.
TOFSTREAM_HOST_DEVICE inline float scatter_at(const ScatterView& e, const SinogramPlace& place) {
  constexpr float half_turn = 3.14159265f;
  const float angle = place.phi / half_turn * static_cast<float>(e.size[1]);
  const int first = detail::within(static_cast<int>(angle), 0, e.size[1] - 1);
  const float share = minimum(maximum(angle - static_cast<float>(first), 0.0f), 1.0f);
  const auto s = detail::bracket(place.s, e.radial_mm, e.size[0]), t = detail::bracket(place.tof, e.tof_mm, e.size[4]);
  const auto a = detail::bracket(place.z_a, e.axial_mm, e.size[2]),
             b = detail::bracket(place.z_b, e.axial_mm, e.size[3]);
  const float here = detail::scatter_at_angle(e, first, s, a, b, t);
  // At phi + pi the ends change places and s and ToF their sign.
  const float next = first + 1 < e.size[1]
                         ? detail::scatter_at_angle(e, first + 1, s, a, b, t)
                         : detail::scatter_at_angle(e, 0, s.reversed(e.size[0]), b, a, t.reversed(e.size[4]));
  return detail::between(here, next, share);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
