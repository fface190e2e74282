// Reads a scanner's figures from YAML (share/scanners/). Every mistake is one line:
// file:line:column: what is wrong, and an unknown key lists the known ones.
#pragma once

#include <filesystem>
#include <string>

#include "kernels/ring/simulate/ring_scanner.hpp"

namespace tofstream::formats {

/// Throws std::runtime_error in the form above, or if the file cannot be read.
RingScanner read_ring_scanner(const std::filesystem::path& file);
/// The same from text; `file` is what messages call it.
RingScanner parse_ring_scanner(const std::string& text, const std::string& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
