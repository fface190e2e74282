// The table of enumerations of lines: see scanner_lines.hpp.
#include "gadgets/step/scanner_lines.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<ScannerLines>& table_of<ScannerLines>();
template struct KindRegistration<ScannerLines>;

const ScannerLines& lines_of(const Scanner& scanner) {
  for (const ScannerLines& kind : table_of<ScannerLines>())
    if (kind.knows(scanner)) return kind;
  throw std::runtime_error(fmt::format("nothing here knows the lines that the scanner '{}' can record", scanner.name));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
