// Tells the kind of a scanner's file (share/scanners/): each kind has a key of its own, which the file has.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/value/value.hpp"
#include "gadgets/io/scanner_kinds.hpp"

namespace tofstream::formats {

/// The kind of scanner that a file describes. Throws std::runtime_error of one line where the file cannot be read, is
/// no YAML, or has no kind's key.
const ScannerKind& scanner_kind_of(const std::filesystem::path& file);

/// The PETSIRD header of a scanner's file: see ScannerKind. Throws as scanner_kind_of() and the kind's header do, and
/// std::runtime_error for a kind that PETSIRD cannot describe.
ScannerHeader petsird_header_of(const std::filesystem::path& file, double crystal_efficiency_spread);

/// Reads the file of any kind of scanner. Throws what petsird_header_of() throws, but for its kind.
void check_scanner(const std::filesystem::path& file);

/// For the reader of the kind with this key: throws std::runtime_error of one line, file:line:column: message, where
/// the document is of another kind.
void refuse_other_kinds(const Value& document, std::string_view key);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
