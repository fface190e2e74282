// Which effects simulated data contain, in the words that headers carry: "attenuation yes, randoms no, decay no".
#pragma once

#include <string>
#include <string_view>

#include "kernels/types/quantity.hpp"

namespace tofstream::formats {

/// A word for each correction but normalisation that the data call for, or do not need; empty where there is none.
std::string simulation_words(const Quantity& quantity);
/// Sets the corrections that the words name: called for, or not needed, "as the header says".
void read_simulation_words(std::string_view words, Quantity& quantity);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
