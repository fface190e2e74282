// A normalisation as YAML: `crystal_efficiency: [..]`, one number a crystal in the order of PETSIRD's detection bins
// (type after type, module after module, element after element), `class_factor: [..]`, one a table of module pairs, and
// `calibration: ..` with the `unit: Bq/mL` that images have by it; any of them may be left out. What an estimate says
// beside these is read by people.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/ring/correct/normalisation.hpp"

namespace tofstream::formats {

/// Throws std::runtime_error, one line file:line:column: message, for bad YAML, unknown keys, numbers out of range and
/// a file with none of the three.
NormalisationComponents parse_normalisation(const std::string& text, const std::string& file);
NormalisationComponents read_normalisation(const std::filesystem::path& file);

/// What a file says of an estimate beside the components.
struct NormalisationWords {
  std::vector<std::string> comments;  // lines at the file's head
  std::vector<float> crystal_error, class_error;
  std::vector<double> crystal_events;
  std::vector<std::uint32_t> dead, hot, unseen;  // numbers of crystals
};

/// Writes a file that read_normalisation() reads, numbers with six digits; it appears by rename, or not at all. Throws
/// std::system_error when it cannot be written.
void write_normalisation(const std::filesystem::path& file, const NormalisationComponents& components,
                         const NormalisationWords& words);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
