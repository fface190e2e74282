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

/// For the reader of the kind with this key: throws std::runtime_error of one line, file:line:column: message, where
/// the document is of another kind.
void refuse_other_kinds(const Value& document, std::string_view key);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
