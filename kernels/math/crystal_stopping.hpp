// How well crystals stop photons of less than 511 keV, beside those. For host and device.
#pragma once

#include <cmath>
#include <concepts>

#include "kernels/math/compton.hpp"

namespace tofstream {

/// Photoelectric absorption's share of a crystal's attenuation at 511 keV: of LSO (Melcher, J Nucl Med 41:1051, 2000). BGO
/// has 0.43: of photons of 435 keV, 20 mm of it stop 1 % more than this says.
inline constexpr double photoelectric_share_of_crystal = 0.34;

/// By how much a crystal's attenuation of photons of this energy exceeds that of 511 keV: the photoelectric share as
/// E^-2.4, as NIST's tables for tungsten and lead fall from 400 to 500 keV (X-Ray Mass Attenuation Coefficients, database
/// 126), the rest as Klein and Nishina's total cross section.
template <std::floating_point Real>
TOFSTREAM_HOST_DEVICE Real crystal_attenuation_ratio(Real energy_keV,
                                                     double photoelectric_share = photoelectric_share_of_crystal) {
  constexpr auto at_511 = static_cast<Real>(electron_keV), exponent = static_cast<Real>(-2.4);
  const auto share = static_cast<Real>(photoelectric_share);
  return share * std::pow(energy_keV / at_511, exponent) +
         (1 - share) * klein_nishina_total(energy_keV) / klein_nishina_total(at_511);
}

/// Photons of this energy that a crystal stops, over those of 511 keV, for which it is so many mean free paths long along
/// the way; 1 of one that stops all.
TOFSTREAM_HOST_DEVICE inline double stopped_ratio(double energy_keV, double free_paths) {
  return std::expm1(-free_paths * crystal_attenuation_ratio(energy_keV)) / std::expm1(-free_paths);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
