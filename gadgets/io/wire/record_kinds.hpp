// The kinds of records that this program knows: each is registered where it is written, by TOFSTREAM_RECORDS, and goes
// over the wire, into journals and out of them without anything else naming it. table_of<RecordKind>() has them by
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/plugin/kind_table.hpp"
#include "gadgets/io/wire/frame.hpp"

namespace tofstream {
struct EventBatch;
struct Scanner;
}  // namespace tofstream

namespace tofstream::wire {

/// Numbers of schemas from here on are for plug-ins, which agree on them among themselves; those below are tofstream's.
inline constexpr Schema first_plugin_schema{128};

/// One kind of fixed-size records: a number that is in the frames of data, and how events become bytes and events
/// again.
struct RecordKind {
  Schema schema = Schema::none;
  std::size_t bytes = 0;         // an event
  bool names_detectors = false;  // its events are places of detectors, whose depth in their crystals the header gives
  /// True for batches that are sent as records of this kind; at most one kind holds a batch.
  bool (*holds)(const EventBatch&) = nullptr;
  /// Writes the batch's events, which lie on the host, into a payload of exactly as many bytes as they take.
  void (*encode)(const EventBatch&, std::span<std::byte> payload) = nullptr;
  /// The frame's events on the host, of the scanner that the stream's header tells of. `wrong` says, in words that
  /// follow "frame 3: ", what the scanner cannot have seen; the events then do not count.
  EventBatch (*decode)(const Frame&, const std::shared_ptr<const Scanner>&, std::string& wrong) = nullptr;

  static constexpr KindWords called = {"kind of records", "kinds of records", "schema"};
  const Schema& id() const { return schema; }
  std::string problem() const;
};

/// The kind that holds the batch; null where none does.
const RecordKind* find_record_kind(const EventBatch& batch);

}  // namespace tofstream::wire

namespace tofstream {

extern template KindTable<wire::RecordKind>& table_of<wire::RecordKind>();
extern template struct KindRegistration<wire::RecordKind>;

}  // namespace tofstream

// Registers a kind of records; what follows the bytes is as RecordKind has it. Once, at namespace scope of a source
// file:
//
//     TOFSTREAM_RECORDS(Schema{130}, 12, .holds = is_mine, .encode = write_mine, .decode = read_mine);
#define TOFSTREAM_RECORDS(schema_number, bytes_an_event, ...) \
  TOFSTREAM_KIND(::tofstream::wire::RecordKind,               \
                 ::tofstream::wire::RecordKind{.schema = schema_number, .bytes = bytes_an_event, __VA_ARGS__})
// SPDX-License-Identifier: Apache-2.0
