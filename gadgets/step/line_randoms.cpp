// The table of estimates of randoms: see line_randoms.hpp.
#include "gadgets/step/line_randoms.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<LineRandomsKind>& table_of<LineRandomsKind>();
template struct KindRegistration<LineRandomsKind>;

std::unique_ptr<LineRandoms> randoms_of(const std::shared_ptr<const Scanner>& scanner) {
  for (const LineRandomsKind& kind : table_of<LineRandomsKind>())
    if (kind.knows(*scanner)) return kind.make(scanner);
  throw std::runtime_error(
      fmt::format("randoms: nothing here knows those of the lines of scanner '{}': leave randoms out", scanner->name));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
