// Isotopes of emission tomography by name: half-lives, and the photons that a detector is set to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tofstream {

/// What of an isotope is detected: pairs of photons from positrons (PET), or the photons of its decay (SPECT). An
/// isotope belongs to one of the two: what an image in Bq needs besides the half-life differs (a branching fraction of
/// positrons, or the yield of photons, which a camera's sensitivity holds).
enum class Emission { positrons, single_photons };

/// The energy of a photon that an electron and a positron at rest leave.
inline constexpr double annihilation_keV = 511;

/// Half-life in s of an isotope by its name, such as F-18 or Tc-99m. Throws std::invalid_argument, with the names that
/// are known, for another, and for one that does not emit this.
double half_life_s(std::string_view isotope, Emission emission);

/// The isotopes that emit this.
std::vector<std::string> known_isotopes(Emission emission);

/// Energies of the photons that detectors are set to, in keV, the one that is imaged most first: of an isotope that
/// emits positrons 511. Throws std::invalid_argument for an isotope that is not known.
std::vector<double> photopeaks_keV(std::string_view isotope);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
