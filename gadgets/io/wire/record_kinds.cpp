// The table of the kinds of records: see record_kinds.hpp.
#include "gadgets/io/wire/record_kinds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"
#include "gadgets/io/wire/payload_kinds.hpp"

namespace tofstream {

template KindTable<wire::RecordKind>& table_of<wire::RecordKind>();

namespace wire {

std::string RecordKind::problem() const {
  const int number = static_cast<int>(schema);
  if (schema == Schema::none || schema == Schema::petsird || table_of<PayloadKind>().find(schema))
    return fmt::format("records cannot have schema {}, which frames without records have", number);
  if (bytes == 0 || !holds || !encode || !decode)
    return fmt::format("the records of schema {} lack their bytes, holds, encode or decode", number);
  return "";
}

const RecordKind* find_record_kind(const EventBatch& batch) {
  const auto& kinds = table_of<RecordKind>();
  const auto found = std::ranges::find_if(kinds, [&](const RecordKind& kind) { return kind.holds(batch); });
  return found == kinds.end() ? nullptr : &*found;
}

std::size_t record_bytes(Schema schema) {
  const RecordKind* kind = table_of<RecordKind>().find(schema);
  return kind ? kind->bytes : 0;
}

}  // namespace wire
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
