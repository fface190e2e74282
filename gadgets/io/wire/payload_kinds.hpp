// The payloads that frames may hold beside PETSIRD and records of events (record_kinds.hpp): each is registered where
// it is written, by TOFSTREAM_PAYLOAD. table_of<PayloadKind>() has them by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/plugin/kind_table.hpp"
#include "gadgets/io/wire/frame.hpp"

namespace tofstream::wire {

/// What a frame of one schema may be, as far as its header says: what its payload holds, its reader checks.
struct PayloadKind {
  Schema schema = Schema::none;
  FrameKind frame = FrameKind::data;  // or stream_header
  /// Why such a header and so many bytes of payload do not fit together, in words that follow "frame 3: "; empty where
  /// they do. What holds for all frames has been looked at.
  std::string_view (*objection)(const FrameHeader& header, std::uint64_t payload_size) = nullptr;

  static constexpr KindWords called = {"kind of payload", "kinds of payloads", "schema"};
  const Schema& id() const { return schema; }
  std::string problem() const;
};

}  // namespace tofstream::wire

namespace tofstream {

extern template KindTable<wire::PayloadKind>& table_of<wire::PayloadKind>();
extern template struct KindRegistration<wire::PayloadKind>;

}  // namespace tofstream

// Registers a kind of payload. Once, at namespace scope of a source file:
//
//     TOFSTREAM_PAYLOAD(Schema{5}, FrameKind::data, objection_to_views);
#define TOFSTREAM_PAYLOAD(schema_number, frame_kind, objection_of) \
  TOFSTREAM_KIND(                                                  \
      ::tofstream::wire::PayloadKind,                              \
      ::tofstream::wire::PayloadKind{.schema = schema_number, .frame = frame_kind, .objection = objection_of})
// SPDX-License-Identifier: Apache-2.0
