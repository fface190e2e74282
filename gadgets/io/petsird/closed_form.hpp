// Efficiencies of pairs that a header gives in closed form, where their tables would be too large: the standard has one
// table for each class of module pairs, and for large modules all of them would take gigabytes.
#pragma once

#include <string_view>

#include "gadgets/io/petsird/header.hpp"
#include "kernels/types/geometric_efficiency.hpp"

namespace tofstream::petsird {

/// methodDescription of such a header holds these words. The formula is pair_response() of geometric_efficiency.hpp: c
/// is the cosine of a photon to the x axis of its module, along which crystals lie with their faces to the scanner's
/// axis; area is that of a crystal's box across x; front and back are how many free paths of its material at 511 keV the
/// box's ends lie behind the module's foremost face; d joins the points at which photons are taken as detected. Bin
/// efficiencies and the calibration factor are factors besides.
inline constexpr std::string_view closed_form_words =
    "; of pairs, not tabulated: W1 W2 / (2 pi d^2) mm^2, W = area c (exp(-front / c) - exp(-back / c))";

/// Whether the header says so, and has no tables of its own.
bool has_closed_form(const DetectionEfficiencies& efficiencies);

/// The geometry of that formula, in mm. Throws Error for a header with more than one type of modules, or whose crystals
/// are of a material that does not say what it stops.
GeometricEfficiency closed_form(const ScannerInformation& scanner);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
