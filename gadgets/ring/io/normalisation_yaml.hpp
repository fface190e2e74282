// A normalisation as YAML: `crystal_efficiency: [..]`, one number a crystal in the order of PETSIRD's detection bins
// (type after type, module after module, element after element), and `calibration: ..`; either may be left out.
#pragma once

#include <filesystem>
#include <string>

#include "kernels/ring/correct/normalisation.hpp"

namespace tofstream::formats {

/// Throws std::runtime_error, one line file:line:column: message, for bad YAML, unknown keys, numbers out of range and
/// a file with neither key.
NormalisationComponents parse_normalisation(const std::string& text, const std::string& file);
NormalisationComponents read_normalisation(const std::filesystem::path& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
