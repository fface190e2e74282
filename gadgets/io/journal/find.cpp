// Looking through a journal: see find.hpp.
#include "gadgets/io/journal/find.hpp"

#include <variant>

namespace tofstream::journal {
namespace {

// The last frame that the reader gave, if it is sound as a whole.
std::optional<wire::FrameHeader> whole_frame(Reader& reader) {
  const Position here = reader.position();
  reader.go_to(here);
  const auto entry = reader.next();
  if (!entry || reader.position() != here) {
    reader.go_to(here);
    (void)reader.next_head(0);
    return {};
  }
  const auto decoded = wire::decode_frame(entry->bytes);
  const auto* const frame = std::get_if<wire::Frame>(&decoded);
  return frame ? std::optional(frame->header) : std::nullopt;
}

bool is_reached(const wire::FrameHeader& frame, const ReplayFrom& from) {
  if (frame.kind != wire::FrameKind::data || frame.first_event + frame.events <= from.event) return false;
  return from.seconds <= 0 || s_per_ns * static_cast<double>(frame.start_ns + frame.duration_ns) > from.seconds;
}

}  // namespace

std::optional<ReplayBegin> find_begin(Reader& reader, const ReplayFrom& from) {
  std::optional<Position> header;
  std::uint64_t stream = 0;
  while (const auto head = reader.next_head(wire::header_bytes)) {
    if (head->kind != EntryKind::frame) continue;
    const auto peeked = wire::peek_header(head->bytes);
    if (!peeked) continue;
    if (!header && peeked->kind == wire::FrameKind::stream_header) {
      if (const auto frame = whole_frame(reader)) {
        header = reader.position();
        stream = frame->stream;
      }
    } else if (header && peeked->stream == stream && is_reached(*peeked, from)) {
      const Position place = reader.position();
      if (const auto frame = whole_frame(reader); frame && is_reached(*frame, from))
        return ReplayBegin{*header, place, *frame};
    }
  }
  return {};
}

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
