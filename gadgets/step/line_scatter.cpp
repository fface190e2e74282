// The table of scatter of lines: see line_scatter.hpp.
#include "gadgets/step/line_scatter.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<LineScatterKind>& table_of<LineScatterKind>();
template struct KindRegistration<LineScatterKind>;

const LineScatterKind& scatter_of(const Scanner& scanner) {
  for (const LineScatterKind& kind : table_of<LineScatterKind>())
    if (kind.knows(scanner)) return kind;
  throw std::runtime_error(
      fmt::format("scatter: nothing here knows that of the lines of scanner '{}': leave scatter out", scanner.name));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
