// A photon's way through matter that scatters it: Compton's effect of free electrons at rest, and nothing else. For
// host and device.
#pragma once

#include <cmath>

#include "kernels/math/compton.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

struct Photon {
  Vec3d at_mm, direction;  // a unit vector
  double energy_keV = electron_keV;  // which it has until it is scattered
  double path_mm = 0;  // since it was emitted
  int scatters = 0;
};

/// A direction at an angle of this cosine to a unit vector, turned about it by an azimuth (radian).
TOFSTREAM_HOST_DEVICE inline Vec3d turned(Vec3d direction, double cosine, double azimuth) {
  const double sine = std::sqrt(cosine < 1 && cosine > -1 ? 1 - cosine * cosine : 0.0);
  // Across the direction, from the axis that is farthest from it.
  const bool is_steep = std::abs(direction.z) > 0.7;
  const double across = is_steep ? std::sqrt(direction.y * direction.y + direction.z * direction.z)
                                 : std::sqrt(direction.x * direction.x + direction.y * direction.y);
  const Vec3d first = is_steep ? Vec3d{0, -direction.z / across, direction.y / across}
                               : Vec3d{-direction.y / across, direction.x / across, 0};
  const Vec3d second{direction.y * first.z - direction.z * first.y, direction.z * first.x - direction.x * first.z,
                     direction.x * first.y - direction.y * first.x};
  const Vec3d made = cosine * direction + (sine * std::cos(azimuth)) * first + (sine * std::sin(azimuth)) * second;
  return (1 / norm(made)) * made;
}

/// The share of its energy that a photon keeps, drawn from Klein and Nishina's cross section by composition and
/// rejection (J. C. Butcher and H. Messel, Nucl Phys 20:15, 1960). `Random` has uniform() in [0, 1).
template <class Random>
TOFSTREAM_HOST_DEVICE double compton_share(double energy_keV, Random& random) {
  const double a = energy_keV / electron_keV, least = 1 / (1 + 2 * a);
  // dsigma / dshare ~ (1 / share + share) (1 - share sin^2 / (1 + share^2)): the first factor is drawn as a sum of two.
  const double logarithm = -std::log(least), square = 0.5 * (1 - least * least);
  for (;;) {
    const bool is_reciprocal = random.uniform() * (logarithm + square) < logarithm;
    const double u = random.uniform();
    const double share = is_reciprocal ? std::exp(-logarithm * u) : std::sqrt(least * least + (1 - least * least) * u);
    const double t = (1 - share) / (a * share);  // 1 - cosine
    if (random.uniform() <= 1 - share * t * (2 - t) / (1 + share * share)) return share;
  }
}

/// Scatters a photon where it is.
template <class Random>
TOFSTREAM_HOST_DEVICE void scatter(Photon& photon, Random& random) {
  constexpr double full_turn = 6.28318530717958648;
  const double share = compton_share(photon.energy_keV, random);
  const double cosine = 1 - electron_keV / photon.energy_keV * (1 / share - 1);
  photon.direction = turned(photon.direction, cosine, full_turn * random.uniform());
  photon.energy_keV *= share;
  ++photon.scatters;
}

/// Takes a photon to where it meets an electron, or false: to where it last was within the matter's box before it leaves.
/// Steps are those of the densest matter, of which the excess is undone (E. Woodcock et al., ANL-7050, 1965). `Matter` has
/// double most_per_mm(), per_mm(Vec3d): attenuation at 511 keV, and inside(Vec3d): within a convex box about all of it.
/// The attenuation at another energy is in the ratio of the total cross sections.
template <class Matter, class Random>
TOFSTREAM_HOST_DEVICE bool collides(Photon& photon, const Matter& matter, Random& random) {
  double most_per_mm = matter.most_per_mm();
  if (photon.scatters > 0) most_per_mm *= klein_nishina_total(photon.energy_keV) / klein_nishina_total(electron_keV);
  while (most_per_mm > 0) {
    const double step_mm = -std::log(1 - random.uniform()) / most_per_mm;
    const Vec3d next = photon.at_mm + step_mm * photon.direction;
    if (!matter.inside(next)) break;
    photon.at_mm = next;
    photon.path_mm += step_mm;
    if (random.uniform() * matter.most_per_mm() < matter.per_mm(next)) return true;
  }
  return false;
}

/// Follows a photon until it leaves matter for good. False for a photon whose energy falls below `least_keV`.
template <class Matter, class Random>
TOFSTREAM_HOST_DEVICE bool leaves(Photon& photon, const Matter& matter, double least_keV, Random& random) {
  while (collides(photon, matter, random)) {
    scatter(photon, random);
    if (photon.energy_keV < least_keV) return false;
  }
  return true;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
