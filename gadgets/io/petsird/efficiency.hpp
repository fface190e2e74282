// Detection efficiencies of PETSIRD (its DetectionEfficiencies): the mean number of trues on a bin
// pair, corrected for scatter and attenuation, is the efficiency times the line integral in mm of
// the number of annihilations.
#pragma once

#include <cstdint>

#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/header.hpp"

namespace tofstream::petsird {

struct Crystal {
  std::uint32_t type = 0;   ///< of module
  std::uint32_t index = 0;  ///< element + elements*module
};

/// calibrationFactor * E[a] * E[b] * pair table at the SGID of their modules; 0 for modules that
/// are not in coincidence; a component that the header does not have counts as 1,
/// one in closed form too (closed_form.hpp; to_scanner() has it). The tables are
/// not symmetric and hold the pair in the order of events (larger type, then larger bin, first):
/// given the other way round, it is turned. The header must have passed check_header; throws Error
/// if a bin does not exist.
double bin_pair_efficiency(const ScannerInformation& scanner, DetectionBin a, DetectionBin b);

/// The sum of bin_pair_efficiency over all energy bins of two crystals: what one LOR is worth.
double crystal_pair_efficiency(const ScannerInformation& scanner, Crystal a, Crystal b);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
