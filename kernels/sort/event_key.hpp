// The sort keys of events, in arithmetic that host and device round alike, so that both give the
// same order bit for bit. A key holds the predominant axis above the position of the ToF centre.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/math/dominant_axis.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/sort/partition.hpp"
#include "kernels/types/events.hpp"

namespace tofstream::detail {

/// a * b that no compiler merges with a following addition.
TOFSTREAM_HOST_DEVICE inline float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

/// The axis by which events are grouped: that along which the vector is longest in mm, the earlier of equals.
TOFSTREAM_HOST_DEVICE inline int predominant_axis(const Vec3& v) {
  return dominant_axis<EqualAxes::x_y_z>(v);
}

/// Midpoint + tof * direction (mm); the midpoint where the ends coincide.
TOFSTREAM_HOST_DEVICE inline Vec3 tof_centre(const Lor& lor, bool has_tof) {
  const Vec3 along = lor.end2 - lor.end1, sum = lor.end1 + lor.end2;
  const float squared =
      rounded_product(along.x, along.x) + rounded_product(along.y, along.y) + rounded_product(along.z, along.z);
  const float t = has_tof && squared > 0 ? lor.tof_mm / std::sqrt(squared) : 0.0f;
  return {rounded_product(0.5f, sum.x) + rounded_product(t, along.x),
          rounded_product(0.5f, sum.y) + rounded_product(t, along.y),
          rounded_product(0.5f, sum.z) + rounded_product(t, along.z)};
}

/// Key of one event; events compare as their keys do.
struct EventKey {
  static constexpr int morton_bits = 24, centre_bits = 30;

  EventView events;
  SortKey order = SortKey::morton;
  float inverse_cell = 0.125f;

  TOFSTREAM_HOST_DEVICE int position_bits() const { return order == SortKey::morton ? morton_bits : centre_bits; }
  TOFSTREAM_HOST_DEVICE int bits() const { return position_bits() + 2; }

  TOFSTREAM_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const {
    const Lor lor = events.lor(i);
    const int axis = predominant_axis(lor.end2 - lor.end1);
    const Vec3 centre = tof_centre(lor, events.has_tof());
    const std::uint32_t position =
        order == SortKey::morton ? spread(cell(centre.x)) | spread(cell(centre.y)) << 1 | spread(cell(centre.z)) << 2
                                 : fixed_point(centre[axis]);
    return static_cast<std::uint32_t>(axis) << position_bits() | position;
  }

 private:
  /// Cell of a coordinate, 0 to 255; not a number goes to 0.
  TOFSTREAM_HOST_DEVICE std::uint32_t cell(float mm) const {
    const float c = std::floor(rounded_product(mm, inverse_cell)) + 128.0f;
    return c > 0 ? (c < 255.0f ? static_cast<std::uint32_t>(c) : 255u) : 0u;
  }
  /// Puts two zero bits between the bits of an 8-bit number.
  TOFSTREAM_HOST_DEVICE static std::uint32_t spread(std::uint32_t v) {
    v = (v | v << 8) & 0x0000f00fu;
    v = (v | v << 4) & 0x000c30c3u;
    return (v | v << 2) & 0x00249249u;
  }
  /// A coordinate in steps of 2^-16 mm, clamped to 8 m; not a number goes to 0.
  TOFSTREAM_HOST_DEVICE static std::uint32_t fixed_point(float mm) {
    const float inside = mm > -8191.0f ? (mm < 8191.0f ? mm : 8191.0f) : -8191.0f;
    const auto steps = static_cast<std::int32_t>(std::floor(inside * 65536.0f));
    return static_cast<std::uint32_t>(steps + (1 << 29));
  }
};

/// Keys that someone else has made, in the memory of the sort.
struct GivenKey {
  const std::uint32_t* keys = nullptr;
  TOFSTREAM_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const { return keys[i]; }
};

/// Key of one event of a sorted batch that is cut at ranks: 4 * piece + axis.
struct PieceKey {
  const std::uint32_t* arrival = nullptr;  // null: rank = position
  const std::int64_t* cuts = nullptr;      // non-decreasing, in the memory of the events
  std::int64_t cut_count = 0;
  std::int64_t axis_begin[4] = {};

  TOFSTREAM_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const {
    const std::int64_t rank = arrival ? static_cast<std::int64_t>(arrival[i]) : i;
    std::int64_t low = 0, high = cut_count;  // number of cuts at or below the rank
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (cuts[middle] <= rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const int axis = (i >= axis_begin[1] ? 1 : 0) + (i >= axis_begin[2] ? 1 : 0);
    return static_cast<std::uint32_t>(low) * 4u + static_cast<std::uint32_t>(axis);
  }
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
