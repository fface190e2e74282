// The words in which a quantity says how it was corrected for decay: for who makes the correction, and for writers
// whose format asks for the half-life and for the time of which the activity is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/types/quantity.hpp"

namespace tofstream {

struct DecayCorrection {
  double half_life_s = 0;       // 0: not known
  double reference_time_s = 0;  // scan time whose activity the values are
};

/// "half-life 6584.04 s", "half-life 6584.04 s, to 120 s of scan time"
std::string decay_words(const DecayCorrection& decay);

/// How the values were corrected for decay; nothing where they were not. Words of others leave the half-life unknown
/// and the reference at the scan's start. `quantity` may be null.
std::optional<DecayCorrection> decay_correction_of(const Quantity* quantity);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
