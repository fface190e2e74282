// What a PETSIRD header says of the scale of its efficiencies and of what its events need to be corrected for. The
// standard has no field for the second; a simulation says it in words, in the efficiencies' methodDescription.
#pragma once

#include <string>
#include <string_view>

#include "gadgets/io/petsird/header.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream::petsird {

/// The description of a simulated scanner's efficiencies is what they are and these words: they are on an absolute
/// scale.
inline constexpr std::string_view absolute_scale_words = "; trues/s for 1 Bq/mL mm";
/// What they are ends with these words where a scanner has none: "strips that detect every photon".
inline constexpr std::string_view perfect_words = " that detect every photon";

/// Whether the description says so.
bool is_absolute(const DetectionEfficiencies& efficiencies);

/// The quantity of an image of the header's events before any correction: Bq/mL for our simulated scanners; kBq/mL
/// where another header has a calibration factor, which makes efficiencies those for annihilations per mm^3; else
/// relative. Normalisation is made where the header has efficiencies, since the sensitivity takes them in.
Quantity quantity_of(const Header& header);

/// Says what the efficiencies are from now on. What the description said of a simulation and of a closed form stays, and
/// of their absolute scale unless they are on another one now.
void restate_efficiencies(DetectionEfficiencies& efficiencies, const std::string& what, bool has_new_scale);

/// Adds to the header what the events' quantity says of attenuation, randoms and so on being in them or not.
void state_simulation(Header& header, const Quantity& quantity);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
