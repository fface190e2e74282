// Compton scatter of photons by free electrons at rest, and which energies a detector accepts. For host and device.
#pragma once

#include <cmath>
#include <concepts>

#include "kernels/math/host_device.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

inline constexpr double electron_keV = 510.99895;  // at rest (CODATA 2018), and of each photon of an annihilation

/// The energy of a photon after it was scattered by an angle of this cosine (Compton 1923).
TOFSTREAM_HOST_DEVICE inline double scattered_keV(double cosine, double energy_keV = electron_keV) {
  return energy_keV / (1 + energy_keV / electron_keV * (1 - cosine));
}

/// Klein and Nishina's cross section of an electron for a photon of 511 keV, in squares of the classical electron
/// radius per sr (Z Phys 52:853, 1929).
TOFSTREAM_HOST_DEVICE inline double klein_nishina_per_sr(double cosine) {
  const double p = 1 / (2 - cosine);
  return 0.5 * p * p * (p + 1 / p - (1 - cosine * cosine));
}

/// The same over all directions, for a photon of any energy, in squares of the classical electron radius. In single
/// precision within 1e-5 from 100 keV on.
template <std::floating_point Real>
TOFSTREAM_HOST_DEVICE Real klein_nishina_total(Real energy_keV) {
  constexpr auto pi = static_cast<Real>(3.14159265358979324);
  const Real a = energy_keV / static_cast<Real>(electron_keV), b = 1 + 2 * a, l = std::log(b);
  return 2 * pi * ((1 + a) / (a * a) * (2 * (1 + a) / b - l / a) + l / (2 * a) - (1 + 3 * a) / (b * b));
}

/// Energies that count. The response to one energy is Gaussian.
struct EnergyAcceptance {
  double low_keV = 0, high_keV = 0;
  double resolution = 0;            // full width at half maximum at 511 keV, as a share of it
  bool is_share_of_energy = false;  // the width grows with the energy; else with its root, as counting statistics do

  /// The share of photons of this energy that is accepted.
  TOFSTREAM_HOST_DEVICE double share(double energy_keV) const {
    constexpr double root_of_two = 1.4142135623730951;
    const double at_511 = resolution * electron_keV / fwhm_per_sigma, ratio = energy_keV / electron_keV;
    const double sigma = root_of_two * at_511 * (is_share_of_energy ? ratio : std::sqrt(ratio));
    return 0.5 * (std::erf((high_keV - energy_keV) / sigma) - std::erf((low_keV - energy_keV) / sigma));
  }
  /// Below this energy hardly any photon is accepted: less than one in a million.
  double least_keV() const {
    constexpr double hardly = 1e-6, step_keV = 1;
    double at = low_keV;
    while (at > step_keV && share(at) > hardly) at -= step_keV;
    return at;
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
