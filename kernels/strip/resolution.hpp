// How well the strips measure: the inverse covariance of an event's (z_u, z_d, dl) (Bialas et al. 2015, eq. 12;
// jpet.md). Shared by host, device and references (T = float or double).
#pragma once

#include "kernels/math/host_device.hpp"
#include "kernels/strip/geometry.hpp"

namespace tofstream {

/// Standard deviations (not FWHM) in mm.
struct StripResolution {
  float sigma_z_mm = 10;   // along a strip, at its centre
  float sigma_dl_mm = 40;  // of dl, so 20 mm of the place along the line
  float sigma_z_edge_rise =
      0;                    // by how much sigma_z is greater at a strip's end, relative; it rises as the square of z
  float gamma_per_mm2 = 0;  // eq. 12's gamma: couples dl to z_u, and by its negative to z_d
  friend constexpr bool operator==(const StripResolution&, const StripResolution&) = default;
};

/// Sigma of z measured at `z_mm` along a strip; beyond its ends that at the end.
template <class T>
TOFSTREAM_HOST_DEVICE inline T strip_sigma_z(const StripResolution& resolution, const StripGeometry& strips, T z_mm) {
  const T from_centre = T(2) * z_mm / static_cast<T>(strips.length_mm);
  const T rise = static_cast<T>(resolution.sigma_z_edge_rise) * minimum(from_centre * from_centre, T(1));
  return static_cast<T>(resolution.sigma_z_mm) * (T(1) + rise);
}

/// C^-1 = ((up, 0, cross), (0, down, -cross), (cross, -cross, dl)), 1/mm^2 (eq. 12, one sigma_z a strip).
template <class T>
struct StripPrecision {
  T up{}, down{}, dl{}, cross{};

  /// The determinant of C^-1, 1/mm^6.
  TOFSTREAM_HOST_DEVICE T determinant() const { return up * down * dl - cross * cross * (up + down); }
};

/// The precision of an event, by where it was measured.
template <class T>
TOFSTREAM_HOST_DEVICE inline StripPrecision<T> strip_precision(const StripResolution& resolution,
                                                               const StripGeometry& strips,
                                                               const StripResponse<T>& response) {
  const T up = strip_sigma_z(resolution, strips, response.z_up_mm);
  const T down = strip_sigma_z(resolution, strips, response.z_down_mm);
  const T dl = static_cast<T>(resolution.sigma_dl_mm);
  return {T(1) / (up * up), T(1) / (down * down), T(1) / (dl * dl), static_cast<T>(resolution.gamma_per_mm2)};
}

/// Throws std::invalid_argument that names the first number which is not valid: lengths and sigmas are finite and
/// positive, the rise in [0, 10], and gamma so small that C^-1 is positive definite for every event.
void validate(const StripGeometry& strips, const StripResolution& resolution);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
