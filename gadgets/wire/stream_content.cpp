// The table of the kinds of streams: see stream_content.hpp.
#include "gadgets/wire/stream_content.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<StreamKind>& table_of<StreamKind>();
template struct KindRegistration<StreamKind>;

void StreamOutlet::require_reader(std::string_view output, std::string_view of_what) const {
  if (context.is_connected(output)) return;
  throw std::runtime_error(
      fmt::format("the stream is of {}, which come out of the output {}, and nothing reads that: "
                  "connect {}.{}",
                  of_what, output, context.name(), output));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
