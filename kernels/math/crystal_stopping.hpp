// How well crystals stop photons of less than 511 keV, beside those. For host and device.
#pragma once

#include <cmath>

#include "kernels/math/compton.hpp"

namespace tofstream {

/// Photoelectric absorption's share of a crystal's attenuation at 511 keV: of LSO (Melcher, J Nucl Med 41:1051, 2000). BGO
/// has 0.43: of photons of 435 keV, 20 mm of it stop 1 % more than this says.
inline constexpr double photoelectric_share_of_crystal = 0.34;

/// By how much a crystal's attenuation of photons of this energy exceeds that of 511 keV: the photoelectric share as
/// E^-2.4, as NIST's tables for tungsten and lead fall from 400 to 500 keV (X-Ray Mass Attenuation Coefficients, database
/// 126), the rest as Klein and Nishina's total cross section.
TOFSTREAM_HOST_DEVICE inline double crystal_attenuation_ratio(
    double energy_keV, double photoelectric_share = photoelectric_share_of_crystal) {
  constexpr double exponent = -2.4;
  return photoelectric_share * std::pow(energy_keV / electron_keV, exponent) +
         (1 - photoelectric_share) * klein_nishina_total(energy_keV) / klein_nishina_total(electron_keV);
}

/// Photons of this energy that a crystal stops, over those of 511 keV, for which it is so many mean free paths long along
/// the way; 1 of one that stops all.
TOFSTREAM_HOST_DEVICE inline double stopped_ratio(double energy_keV, double free_paths) {
  return std::expm1(-free_paths * crystal_attenuation_ratio(energy_keV)) / std::expm1(-free_paths);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
