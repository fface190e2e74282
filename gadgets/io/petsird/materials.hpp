// What a PETSIRD header's materials do to photons of 511 keV.
#pragma once

#include <optional>

#include "gadgets/io/petsird/header.hpp"

namespace tofstream::petsird {

/// Attenuation per mm of 511 keV photons, coherent scatter included: of the atoms and the density where the header
/// gives both, else of a scintillator's usual form by its name (LSO, LYSO, BGO, GSO, GAGG, LuAP, NaI, CsI, LaBr3,
/// CeBr3, BaF2). None for another.
std::optional<double> attenuation_per_mm(const BulkMaterial& material);

/// A material of lutetium oxyorthosilicate's atoms, of the density that attenuates by so much.
BulkMaterial scintillator(std::uint32_t id, double attenuation_per_mm);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
