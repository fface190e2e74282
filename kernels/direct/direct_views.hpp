// The views of DIRECT and their frames: which view a line of response belongs to, and which way it then looks
// (Matej et al. 2009). For host and device.
#pragma once

#include <cmath>
#include <numbers>

#include "kernels/math/arc_tangent.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

/// Directions of views: `azimuths` equal intervals of [0, 180) degrees times `tilts` equal intervals of the co-polar
/// angle in [-acceptance_deg, acceptance_deg]. A view looks along the middle of its intervals. View number
/// tilt * azimuths + azimuth.
struct DirectViews {
  int azimuths = 40, tilts = 3;
  float acceptance_deg = 10;

  TOFSTREAM_HOST_DEVICE constexpr int count() const { return azimuths * tilts; }
  TOFSTREAM_HOST_DEVICE constexpr double azimuth_deg(int view) const {
    return (view % azimuths + 0.5) * 180 / azimuths;
  }
  TOFSTREAM_HOST_DEVICE constexpr double tilt_deg(int view) const {
    const double acceptance = static_cast<double>(acceptance_deg);
    return (view / azimuths + 0.5) * 2 * acceptance / tilts - acceptance;
  }
  friend constexpr bool operator==(const DirectViews&, const DirectViews&) = default;
};

/// Throws std::invalid_argument unless there are 1 to 4096 views and the acceptance is in (0, 80] degrees.
void validate(const DirectViews& views);

/// The axes of a view: t along its direction n = (cos f cos q, sin f cos q, sin q) of azimuth f and co-polar angle q,
/// s = (-sin f, cos f, 0) across it in the transverse plane, z' = n x s across both. Positions in mm from the origin
/// of the scanner frame.
struct ViewFrame {
  double cos_f = 1, sin_f = 0, cos_q = 1, sin_q = 0;

  static ViewFrame of(double azimuth_deg, double tilt_deg) {
    const double f = azimuth_deg * std::numbers::pi / 180, q = tilt_deg * std::numbers::pi / 180;
    return {std::cos(f), std::sin(f), std::cos(q), std::sin(q)};
  }
  TOFSTREAM_HOST_DEVICE Vec3d direction() const { return {cos_f * cos_q, sin_f * cos_q, sin_q}; }
  TOFSTREAM_HOST_DEVICE double tan_q() const { return sin_q / cos_q; }
  /// Along the direction's projection onto the transverse plane.
  TOFSTREAM_HOST_DEVICE double u(Vec3d at) const { return cos_f * at.x + sin_f * at.y; }
  TOFSTREAM_HOST_DEVICE double t(Vec3d at) const { return cos_q * u(at) + sin_q * at.z; }
  /// The radial coordinate, with its sign.
  TOFSTREAM_HOST_DEVICE double s(Vec3d at) const { return cos_f * at.y - sin_f * at.x; }
  TOFSTREAM_HOST_DEVICE double z(Vec3d at) const { return cos_q * at.z - sin_q * u(at); }
};

/// Where a line belongs.
struct DirectLine {
  int view = -1;           // -1: its co-polar angle is beyond the acceptance
  bool is_turned = false;  // it runs against the view's direction: its ToF changes the sign
};

/// The view of a line along `direction`, of any length but 0. The line is turned so that its azimuth lies in
/// [0, 180).
TOFSTREAM_HOST_DEVICE inline DirectLine view_of_line(const DirectViews& views, Vec3 direction) {
  DirectLine line;
  line.is_turned = direction.y < 0 || (direction.y == 0 && direction.x < 0);
  if (line.is_turned) direction = -1.0f * direction;
  constexpr float pi = std::numbers::pi_v<float>;
  const float across = std::sqrt(direction.x * direction.x + direction.y * direction.y);
  const float tilt_deg = arc_tangent(direction.z, across) * (180 / pi);
  if (!(std::abs(tilt_deg) <= views.acceptance_deg)) return line;
  const auto interval = [](float share, int intervals) {
    const int i = static_cast<int>(share * static_cast<float>(intervals));
    return i < intervals ? i : intervals - 1;
  };
  const int azimuth = interval(arc_tangent(direction.y, direction.x) / pi, views.azimuths);
  const int tilt = interval((tilt_deg + views.acceptance_deg) / (2 * views.acceptance_deg), views.tilts);
  line.view = tilt * views.azimuths + azimuth;
  return line;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
