// The reconstruction kernel P(event | pixel) of two strips (Bialas et al. 2015, eqs. 7-12 with jpet.md's corrections):
// what one event has of it, computed once; kernel-inl.hpp evaluates it at pixels. Shared by host, device and
// references.
//
// P is the density (1/mm^3 of z_u, z_d, dl) of measuring the event where a decay happened at the pixel, the response
// expanded to second order in the emission angle around the reconstructed one. With dy and dz from the reconstructed
// emission to the pixel and shift = dz - dy tan, b is (shift, shift, -2 dy sec), and all that eq. 7 needs is
// polynomial:
//   b C^-1 b = along dy^2 + across shift^2                   (gamma drops out, since b_u = b_d)
//   b C^-1 a = m1 dy + m2 dy^2 + shift (s0 + s1 dy)
//   N        = n0 + n1 dy + n2 dy^2 + 2 tan shift (s0 + s1 dy)
#pragma once

#include <cmath>

#include "kernels/math/host_device.hpp"
#include "kernels/strip/geometry.hpp"
#include "kernels/strip/resolution.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

/// Which terms of P are kept.
enum class StripForm {
  full,      // eq. 7 times the share of angles at which both photons meet the strips: integrates to the sensitivity
  eq7,       // eq. 7: strips without ends
  gaussian,  // N = a C^-1 a, and without (b C^-1 a)^2, as the authors' CPU program: loses weight away from the centre
};

/// A pixel belongs to an event where b C^-1 b is at most this: within 3 sigma (Bialas et al. 2015, section 3).
inline constexpr float strip_cut = 9;

/// The constants of one event, in mm and radians. In the gaussian form, n0 to n2 are those of a C^-1 a, which does not
/// depend on shift.
template <class T>
struct StripEventTerms {
  T y, z, tan, angle;  // of the reconstructed emission; the full form alone has the angle
  T across, along;     // of b C^-1 b
  T m1, m2, s0, s1;    // of b C^-1 a
  T n0, n1, n2;        // of N
  T least_norm;        // N is not taken below this: the expansion has long failed there
  T scale;             // sqrt(det C^-1) / (2 pi^2)

  TOFSTREAM_HOST_DEVICE static StripEventTerms make(StripForm form, const StripGeometry& strips,
                                                    const StripResolution& resolution,
                                                    const StripResponse<T>& response) {
    const StripEmission<T> e = strip_emission(strips, response);
    const StripPrecision<T> c = strip_precision(resolution, strips, response);
    const T radius = static_cast<T>(strips.radius_mm), y = e.y_mm, tan = e.tan;
    const T sec2 = T(1) + tan * tan, sec = std::sqrt(sec2);
    const T sum = sec2 * (c.up + c.down), difference = sec2 * radius * (c.up - c.down);
    const T dl = T(4) * c.dl * sec2, cross = T(4) * c.cross * radius * sec2 * sec;
    StripEventTerms t;
    t.y = y;
    t.z = e.z_mm;
    t.tan = tan;
    t.angle = form == StripForm::full ? std::atan(tan) : T(0);
    t.across = c.up + c.down;
    t.along = dl;
    t.m1 = dl * tan * y - cross;
    t.m2 = dl * tan;
    t.s0 = difference - sum * y;
    t.s1 = -sum;
    // a C^-1 a, as a polynomial of the pixel's Y = y + dy
    const T a0 = sec2 * sum * radius * radius;
    const T a1 = T(-2) * (sec2 * difference + cross * tan);
    const T a2 = sec2 * sum + dl * tan * tan;
    t.n0 = a0 + (a1 + a2 * y) * y;
    t.n1 = a1 + T(2) * a2 * y;
    t.n2 = a2;
    if (form != StripForm::gaussian) {  // 2 o C^-1 b
      const T o2 = dl * (T(1) + T(2) * tan * tan);
      t.n1 += o2 * y - T(2) * cross * tan;
      t.n2 += o2;
    }
    t.least_norm = T(0.1) * a0;
    t.scale = std::sqrt(c.determinant()) * T(0.050660591821168886);
    return t;
  }

  /// Half the height (y) and width (z) of the box around the ellipse b C^-1 b = strip_cut (Bialas et al. 2015, eq. 14,
  /// which lacks a quarter).
  TOFSTREAM_HOST_DEVICE T half_height() const { return std::sqrt(T(strip_cut) / along); }
  TOFSTREAM_HOST_DEVICE T half_width() const {
    return std::sqrt(T(strip_cut) * (along + across * tan * tan) / (along * across));
  }
  TOFSTREAM_HOST_DEVICE bool in_ellipse(T dy, T dz) const {
    const T shift = dz - dy * tan;
    return across * shift * shift + along * dy * dy <= T(strip_cut);
  }
  TOFSTREAM_HOST_DEVICE bool finite() const {
    return std::abs(y) + half_height() + std::abs(z) + half_width() < T(1e30);
  }
};

/// Which ends of the strips an event's photons may have missed: those of the highest and of the lowest angles.
struct StripNearEnds {
  bool high = false, low = false;
};

/// The ends that the full form has to look at: an event that was measured more than 6 sigma from the ends has the P of
/// eq. 7. Its ellipse's pixels move a photon by at most 3 sigma within what is measured; the share beyond an end
/// farther away than that is nothing to some 1e-7 (sqrt(6^2 - 3^2) standard deviations of the angle).
TOFSTREAM_HOST_DEVICE inline StripNearEnds strip_near_ends(const StripGeometry& strips,
                                                           const StripResolution& resolution,
                                                           const StripResponse<float>& r) {
  const StripPrecision<float> c = strip_precision(resolution, strips, r);
  const float half = 0.5f * strips.length_mm, determinant = c.determinant();
  // The variance of one end's z by C is (c of the other end * c.dl - c.cross^2) / determinant.
  const float up = 36 * (c.down * c.dl - c.cross * c.cross), down = 36 * (c.up * c.dl - c.cross * c.cross);
  const auto near = [determinant](float distance, float limit) {
    return distance < 0 || distance * distance * determinant < limit;
  };
  return {near(half - r.z_up_mm, up) || near(half + r.z_down_mm, down),
          near(half + r.z_up_mm, up) || near(half - r.z_down_mm, down)};
}

/// Pixels of a box, ends included; empty where a first one is greater than its last.
struct StripBox {
  int y_first = 0, y_last = -1, z_first = 0, z_last = -1;
};

/// The pixels between low and high (in pixels from the first one's centre) of an axis of `size`, ends included; by a
/// thousandth more, since rounding may move a pixel: who walks them tests each.
template <class T>
TOFSTREAM_HOST_DEVICE inline void strip_pixels(T low, T high, int size, int& first, int& last) {
  const T slack = T(1e-3);
  first = static_cast<int>(minimum(T(size), maximum(T(0), std::ceil(low - slack))));
  last = static_cast<int>(maximum(T(-1), minimum(T(size - 1), std::floor(high + slack))));
}

/// The pixels of `grid` in the box around the event's ellipse; none where the event is not finite.
template <class T>
TOFSTREAM_HOST_DEVICE inline StripBox strip_box(const StripEventTerms<T>& event, const Grid& grid) {
  StripBox box;
  if (!event.finite()) return box;
  const T per_y = T(1) / static_cast<T>(grid.voxel_mm.y), per_z = T(1) / static_cast<T>(grid.voxel_mm.z);
  const T y = (event.y - static_cast<T>(grid.origin_mm.y)) * per_y, height = event.half_height() * per_y;
  const T z = (event.z - static_cast<T>(grid.origin_mm.z)) * per_z, width = event.half_width() * per_z;
  strip_pixels(y - height, y + height, grid.size[1], box.y_first, box.y_last);
  strip_pixels(z - width, z + width, grid.size[2], box.z_first, box.z_last);
  return box;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
