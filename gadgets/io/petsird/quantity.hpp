// What a PETSIRD header says of the scale of its efficiencies and of what its events need to be corrected for. The
// standard has no field for the second; a simulation says it in words, in the efficiencies' methodDescription.
#pragma once

#include "gadgets/io/petsird/header.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream::petsird {

/// What the descriptions of our own simulated scanners begin with: efficiencies on an absolute scale.
inline constexpr auto* ring_scale_words = "closed-form geometry of the simulated scanner; trues/s for 1 Bq/mL mm";
inline constexpr auto* strip_scale_words = "strips that detect every photon; trues/s for 1 Bq/mL mm";

/// The quantity of an image of the header's events before any correction: Bq/mL for our simulated scanners; kBq/mL
/// where another header has a calibration factor, which makes efficiencies those for annihilations per mm^3; else
/// relative. Normalisation is made where the header has efficiencies, since the sensitivity takes them in.
Quantity quantity_of(const Header& header);

/// Adds to the header what the events' quantity says of attenuation, randoms and so on being in them or not.
void state_simulation(Header& header, const Quantity& quantity);

}  // namespace tofstream::petsird
