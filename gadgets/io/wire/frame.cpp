// Frames to and from bytes: see frame.hpp.
#include "gadgets/io/wire/frame.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include <boost/endian/buffers.hpp>
#include <fmt/format.h>

#include "gadgets/io/wire/checksum.hpp"
#include "gadgets/io/wire/payload_kinds.hpp"

namespace tofstream::wire {
namespace {

namespace endian = boost::endian;

// The header as it lies on the wire, without padding.
struct HeaderBytes {
  std::array<char, frame_magic.size()> magic;
  endian::little_uint16_buf_t version, header_size;
  endian::little_uint32_buf_t checksum;  // over all bytes of the frame but these four
  endian::little_uint8_buf_t kind, schema;
  endian::little_uint16_buf_t flags;
  endian::little_uint64_buf_t stream, sequence, first_event, events, start_ns, duration_ns, sent_ns, payload_size;
};
static_assert(sizeof(HeaderBytes) == header_bytes);

constexpr std::size_t checksum_at = offsetof(HeaderBytes, checksum);

bool overflows(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b;
}

std::string_view objection_to_data(const FrameHeader& header, std::uint64_t payload_size) {
  constexpr std::uint64_t shortest_petsird_event = 3;  // three varints
  if (header.sequence == 0) return "data has sequence number 0, which is the stream header's";
  if (header.schema == Schema::petsird) {
    if (payload_size == 0) return "data without a payload";
    return header.events > payload_size / shortest_petsird_event ? "more events than so few bytes can hold" : "";
  }
  if (const PayloadKind* kind = table_of<PayloadKind>().find(header.schema))
    return kind->frame == FrameKind::data ? kind->objection(header, payload_size) : "data of a stream header's schema";
  const std::uint64_t each = record_bytes(header.schema);
  if (each == 0) return "data of an unknown schema";
  if (header.events == 0) return "records of no event";
  return header.events != payload_size / each || payload_size % each != 0
             ? "the number of events and the size of the payload disagree"
             : "";
}

std::string_view objection_to_stream_header(const FrameHeader& header, std::uint64_t payload_size) {
  const PayloadKind* kind = table_of<PayloadKind>().find(header.schema);
  const bool is_known = header.schema == Schema::petsird || (kind && kind->frame == FrameKind::stream_header);
  if (!is_known) return "a stream header of an unknown schema";
  if (header.sequence != 0) return "a stream header whose sequence number is not 0";
  if (header.first_event != 0 || header.events != 0) return "a stream header that counts events";
  if (payload_size == 0) return "a stream header without a payload";
  return kind ? kind->objection(header, payload_size) : "";
}

// What is wrong with the fields of a frame that is whole; "" where nothing is.
std::string_view objection(const FrameHeader& header, std::uint64_t payload_size) {
  const bool records = record_bytes(header.schema) > 0;
  if ((header.flags & ~(records ? flag_delayed : 0)) != 0) return "unknown flags";
  if (overflows(header.sequence, 1)) return "a sequence number that none can follow";
  if (overflows(header.first_event, header.events)) return "more events than can be counted";
  if (overflows(header.start_ns, header.duration_ns)) return "a time beyond what can be counted";
  switch (header.kind) {
    case FrameKind::stream_header:
      return objection_to_stream_header(header, payload_size);
    case FrameKind::data:
      return objection_to_data(header, payload_size);
    case FrameKind::end:
      if (header.schema != Schema::none || payload_size != 0) return "an end of the stream with a payload";
      if (header.sequence == 0) return "an end of the stream with sequence number 0, which is the stream header's";
      return header.events != 0 ? "an end of the stream that holds events" : "";
  }
  return "an unknown kind of frame";
}

FrameHeader header_of(const HeaderBytes& raw) {
  return {.kind = static_cast<FrameKind>(raw.kind.value()),
          .schema = static_cast<Schema>(raw.schema.value()),
          .flags = raw.flags.value(),
          .stream = raw.stream.value(),
          .sequence = raw.sequence.value(),
          .first_event = raw.first_event.value(),
          .events = raw.events.value(),
          .start_ns = raw.start_ns.value(),
          .duration_ns = raw.duration_ns.value(),
          .sent_ns = raw.sent_ns.value()};
}

std::string printable(std::span<const char> text) {
  std::string shown(text.begin(), text.end());
  std::ranges::replace_if(
      shown, [](char c) { return std::isprint(static_cast<unsigned char>(c)) == 0; }, '?');
  return shown;
}

}  // namespace

std::variant<Frame, BadFrame> decode_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < header_bytes)
    return BadFrame{FrameFault::too_short,
                    fmt::format("a message of {} bytes is no frame, whose header alone has {}: send whole frames, one "
                                "a message",
                                bytes.size(), header_bytes)};
  HeaderBytes raw;
  std::memcpy(&raw, bytes.data(), header_bytes);
  if (!std::ranges::equal(raw.magic, frame_magic))
    return BadFrame{FrameFault::magic, fmt::format("the message begins with '{}', not with '{}': what sends it is no "
                                                   "sender of frames",
                                                   printable(raw.magic), frame_magic)};
  if (raw.version.value() != frame_version)
    return BadFrame{FrameFault::version, fmt::format("a frame of version {}, but only version {} is known: use one "
                                                     "release at both ends",
                                                     raw.version.value(), frame_version)};
  if (raw.header_size.value() != header_bytes)
    return BadFrame{FrameFault::header_size, fmt::format("a header of {} bytes, but version {} has {}: fix the sender",
                                                         raw.header_size.value(), frame_version, header_bytes)};
  const auto payload = bytes.subspan(header_bytes);
  if (raw.payload_size.value() != payload.size())
    return BadFrame{FrameFault::payload_size,
                    fmt::format("the header says {} bytes of payload, but {} follow: send whole frames, one a message",
                                raw.payload_size.value(), payload.size())};
  if (const std::uint32_t found = crc32c_around(bytes, checksum_at); found != raw.checksum.value())
    return BadFrame{FrameFault::checksum, fmt::format("the header says CRC32C {:08x}, but the bytes give {:08x}: they "
                                                      "were damaged on their way, or the sender reckons differently",
                                                      raw.checksum.value(), found)};
  const Frame frame{header_of(raw), payload};
  if (const auto wrong = objection(frame.header, payload.size()); !wrong.empty())
    return BadFrame{FrameFault::contents, fmt::format("frame {}: {}: fix the sender", frame.header.sequence, wrong)};
  return frame;
}

std::optional<FrameHeader> peek_header(std::span<const std::byte> bytes) {
  if (bytes.size() < header_bytes) return {};
  HeaderBytes raw;
  std::memcpy(&raw, bytes.data(), header_bytes);
  const bool is_known = std::ranges::equal(raw.magic, frame_magic) && raw.version.value() == frame_version;
  return is_known ? std::optional(header_of(raw)) : std::nullopt;
}

void seal_frame(const FrameHeader& header, std::span<std::byte> frame) {
  if (frame.size() < header_bytes) throw std::invalid_argument("no room for a frame's header");
  if (const auto wrong = objection(header, frame.size() - header_bytes); !wrong.empty())
    throw std::invalid_argument(fmt::format("frame {}: {}", header.sequence, wrong));
  HeaderBytes raw;
  std::ranges::copy(frame_magic, raw.magic.begin());
  raw.version = frame_version;
  raw.header_size = static_cast<std::uint16_t>(header_bytes);
  raw.checksum = 0;
  raw.kind = static_cast<std::uint8_t>(header.kind);
  raw.schema = static_cast<std::uint8_t>(header.schema);
  raw.flags = header.flags;
  raw.stream = header.stream;
  raw.sequence = header.sequence;
  raw.first_event = header.first_event;
  raw.events = header.events;
  raw.start_ns = header.start_ns;
  raw.duration_ns = header.duration_ns;
  raw.sent_ns = header.sent_ns;
  raw.payload_size = frame.size() - header_bytes;
  std::memcpy(frame.data(), &raw, header_bytes);
  raw.checksum = crc32c_around(frame, checksum_at);
  std::memcpy(frame.data(), &raw, header_bytes);
}

std::vector<std::byte> encode_frame(const FrameHeader& header, std::span<const std::byte> payload) {
  std::vector<std::byte> frame(header_bytes + payload.size());
  std::ranges::copy(payload, frame.begin() + header_bytes);
  seal_frame(header, frame);
  return frame;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
