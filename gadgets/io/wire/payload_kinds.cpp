// The table of the kinds of payloads: see payload_kinds.hpp.
#include "gadgets/io/wire/payload_kinds.hpp"

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"
#include "gadgets/io/wire/record_kinds.hpp"

namespace tofstream {

template KindTable<wire::PayloadKind>& table_of<wire::PayloadKind>();

namespace wire {

std::string PayloadKind::problem() const {
  const int number = static_cast<int>(schema);
  if (schema == Schema::none || schema == Schema::petsird || record_bytes(schema) > 0)
    return fmt::format("a payload cannot have schema {}, which has a meaning", number);
  if (frame == FrameKind::end || !objection)
    return fmt::format("the payload of schema {} needs an objection, and frames that are no end", number);
  return "";
}

}  // namespace wire
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
