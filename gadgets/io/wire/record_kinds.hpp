// The kinds of records that this program knows: each is registered where it is written, by TOFSTREAM_RECORDS, and goes
// over the wire, into journals and out of them without anything else naming it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/gadget/registry.hpp"
#include "core/plugin/abi.hpp"
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
};

/// The kind of this number; null where none has been registered.
const RecordKind* find_record_kind(Schema schema);
/// The kind that holds the batch; null where none does.
const RecordKind* find_record_kind(const EventBatch& batch);

/// Why this kind may not be added, in one line: its number is taken or not free for records; empty where it may.
std::string problem_of(const RecordKind& kind);
/// Adds a kind that has no problem. Not while other threads look kinds up.
void add_record_kind(const RecordKind& kind);

/// A hash of the sizes of what a kind is and is given, as who includes this header sees them.
inline constexpr std::uint64_t record_kind_layout = detail::layout_of<RecordKind, Frame>();

/// Adds a kind when the program or plug-in is loaded; one of another layout is refused, and not looked at.
struct RecordsRegistration {
  RecordsRegistration(const RecordKind& kind, std::uint64_t layout);
};

}  // namespace tofstream::wire

// Registers a kind of records; what follows the bytes is as RecordKind has it. Once, at namespace scope of a source
// file:
//
//     TOFSTREAM_RECORDS(Schema{130}, 12, .holds = is_mine, .encode = write_mine, .decode = read_mine);
#define TOFSTREAM_RECORDS(schema_number, bytes_an_event, ...)                                             \
  namespace {                                                                                             \
  const ::tofstream::wire::RecordsRegistration TOFSTREAM_UNIQUE_NAME(records_registration_, __COUNTER__)( \
      ::tofstream::wire::RecordKind{.schema = schema_number, .bytes = bytes_an_event, __VA_ARGS__},       \
      ::tofstream::wire::record_kind_layout);                                                             \
  }                                                                                                       \
  static_assert(true, "TOFSTREAM_RECORDS is followed by a semicolon")
