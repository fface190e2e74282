// Two parallel strips of scintillator at y = +R (upper) and y = -R (lower), along z (Bialas et al. 2015, section 2;
// jpet.md): what an emission makes them measure, and back. Shared by host, device and references (T = float or double).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/math/lanes.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// Strips of length_mm along z, centred at z = 0, radius_mm above and below the origin.
struct StripGeometry {
  float radius_mm = 130;
  float length_mm = 300;
  friend constexpr bool operator==(const StripGeometry&, const StripGeometry&) = default;
};

/// What the strips measure of an emission: where its photons met them, and by how much farther the upper one's way was.
template <class T>
struct StripResponse {
  T z_up_mm{}, z_down_mm{};  // along the upper and the lower strip
  T dl_mm{};                 // distance to the upper strip minus distance to the lower
};

/// An emission: its place and direction; `tan` of the angle from the y axis towards +z.
template <class T>
struct StripEmission {
  T tan{}, y_mm{}, z_mm{};
};

/// Event i of the view: z of its upper end (end 1) and lower end (end 2); dl is twice its ToF. It must have free ends
/// and ToF.
template <class T>
TOFSTREAM_HOST_DEVICE inline StripResponse<T> strip_response(const EventView& events, std::int64_t i) {
  return {static_cast<T>(events.ends[2][i]), static_cast<T>(events.ends[5][i]),
          T(2) * static_cast<T>(events.tof_mm[i])};
}

/// What ideal strips that are long enough measure of an emission (Bialas et al. 2015, eq. 1).
template <class T>
TOFSTREAM_HOST_DEVICE inline StripResponse<T> strip_response(const StripGeometry& strips, const StripEmission<T>& e) {
  const T radius = static_cast<T>(strips.radius_mm);
  return {e.z_mm + (radius - e.y_mm) * e.tan, e.z_mm - (radius + e.y_mm) * e.tan,
          T(-2) * e.y_mm * std::sqrt(T(1) + e.tan * e.tan)};
}

/// The emission that a response points at: direct reconstruction (Bialas et al. 2015, eq. 2, whose last form has the
/// wrong sign).
template <class T>
TOFSTREAM_HOST_DEVICE inline StripEmission<T> strip_emission(const StripGeometry& strips, const StripResponse<T>& r) {
  const T tan = (r.z_up_mm - r.z_down_mm) / (T(2) * static_cast<T>(strips.radius_mm));
  const T y = T(-0.5) * r.dl_mm / std::sqrt(T(1) + tan * tan);
  return {tan, y, T(0.5) * (r.z_up_mm + r.z_down_mm) + y * tan};
}

/// An interval of emission angles (radians, from the y axis towards +z); empty where high <= low.
template <class T>
struct StripAngles {
  T low{}, high{};
};

/// The angles at which both photons from (y, z) meet their strips (Bialas et al. 2015, eq. 4); {0, 0} where there are
/// none.
template <class T>
TOFSTREAM_HOST_DEVICE inline StripAngles<T> strip_angles(const StripGeometry& strips, T y_mm, T z_mm) {
  const T radius = static_cast<T>(strips.radius_mm), half = T(0.5) * static_cast<T>(strips.length_mm);
  if (!(std::abs(y_mm) < radius)) return {};
  const T to_upper = T(1) / (radius - y_mm), to_lower = T(1) / (radius + y_mm);
  const T high = minimum((half - z_mm) * to_upper, (half + z_mm) * to_lower);
  const T low = maximum((-half - z_mm) * to_upper, (z_mm - half) * to_lower);
  if (!(low < high)) return {};
  return {std::atan(low), std::atan(high)};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
