// Reads a scanner of two strips from YAML (share/scanners/jpet_strip.yaml). Every mistake is one line:
// file:line:column: what is wrong.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "kernels/types/scanner.hpp"

namespace tofstream::formats {

/// The pair of strips of a file. Throws std::runtime_error in the form above, or where the file cannot be read.
std::shared_ptr<const Scanner> read_strip_scanner(const std::filesystem::path& file);
/// The same from text; `file` is what messages call it.
std::shared_ptr<const Scanner> parse_strip_scanner(const std::string& text, const std::string& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
