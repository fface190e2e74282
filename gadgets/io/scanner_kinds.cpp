// The table of the kinds of scanners: see scanner_kinds.hpp.
#include "gadgets/io/scanner_kinds.hpp"

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<ScannerKind>& table_of<ScannerKind>();
template struct KindRegistration<ScannerKind>;

std::string ScannerKind::problem() const {
  if (!key.empty() && (header || check)) return "";
  return fmt::format("the kind of scanner '{}' lacks its key, or both its header and its check", key);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
