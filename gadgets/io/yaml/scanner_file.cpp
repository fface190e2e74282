// The kind of a scanner's file: see scanner_file.hpp.
#include "gadgets/io/yaml/scanner_file.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::formats {

const ScannerKind& scanner_kind_of(const std::filesystem::path& file) {
  const Value document = read_document(file);
  const auto& kinds = table_of<ScannerKind>();
  const auto found = std::ranges::find_if(kinds, [&](const ScannerKind& kind) { return document.find(kind.key); });
  if (found != kinds.end()) return *found;
  std::string known;
  for (const ScannerKind& kind : kinds)
    known += fmt::format("{}'{}' ({})", known.empty() ? "" : ", ", kind.key, kind.words);
  for (const Value::Entry& entry : document.entries)
    if (const std::string hint = kinds.hint(entry.key); !hint.empty())
      refuse(entry.where, fmt::format("a scanner has one of the keys {}, not '{}'{}", known, entry.key, hint));
  refuse(document.where, fmt::format("a scanner has one of the keys {}", known));
}

ScannerHeader petsird_header_of(const std::filesystem::path& file, double crystal_efficiency_spread) {
  const ScannerKind& kind = scanner_kind_of(file);
  if (kind.header) return kind.header(file, crystal_efficiency_spread);
  throw std::runtime_error(
      fmt::format("{}: this is {}, which PETSIRD cannot describe: name a PET scanner", file.string(), kind.words));
}

void check_scanner(const std::filesystem::path& file) {
  const ScannerKind& kind = scanner_kind_of(file);
  if (kind.header)
    kind.header(file, 0);
  else
    kind.check(file);
}

void refuse_other_kinds(const Value& document, std::string_view key) {
  for (const ScannerKind& kind : table_of<ScannerKind>())
    if (const Value* const other = document.find(kind.key); other && kind.key != key)
      refuse(other->where,
             fmt::format("this is {}, where {} is wanted", kind.words, table_of<ScannerKind>().at(key).words));
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
