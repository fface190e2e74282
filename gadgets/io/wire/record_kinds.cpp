// The table of the kinds of records: see record_kinds.hpp.
#include "gadgets/io/wire/record_kinds.hpp"

#include <array>
#include <optional>

#include <fmt/format.h>

namespace tofstream::wire {
namespace {

// By their number, which is a byte of a frame's header.
using Table = std::array<std::optional<RecordKind>, 256>;

Table& table() {
  static Table kinds;
  return kinds;
}

}  // namespace

const RecordKind* find_record_kind(Schema schema) {
  const auto& kind = table()[static_cast<std::size_t>(schema)];
  return kind ? &*kind : nullptr;
}

const RecordKind* find_record_kind(const EventBatch& batch) {
  for (const auto& kind : table())
    if (kind && kind->holds(batch)) return &*kind;
  return nullptr;
}

std::string problem_of(const RecordKind& kind) {
  const int number = static_cast<int>(kind.schema);
  if (kind.schema == Schema::none || kind.schema == Schema::petsird)
    return fmt::format("records cannot have schema {}, which frames without records have", number);
  if (find_record_kind(kind.schema)) return fmt::format("two kinds of records have schema {}: number one anew", number);
  if (kind.bytes == 0 || !kind.holds || !kind.encode || !kind.decode)
    return fmt::format("the records of schema {} lack their bytes, holds, encode or decode", number);
  return "";
}

void add_record_kind(const RecordKind& kind) {
  table()[static_cast<std::size_t>(kind.schema)] = kind;
}

std::size_t record_bytes(Schema schema) {
  const RecordKind* kind = find_record_kind(schema);
  return kind ? kind->bytes : 0;
}

}  // namespace tofstream::wire
