// Frames, in which a scanner's events go over the wire: a header of 80 bytes, little-endian, then the payload.
// share/doc/wire.md has the format byte by byte and its rules. Pure functions over bytes; a damaged frame is a result,
// no exception, so that a live receiver counts it and goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tofstream::wire {

inline constexpr std::string_view frame_magic = "TOFW";
inline constexpr std::uint16_t frame_version = 1;
inline constexpr std::size_t header_bytes = 80;

enum class FrameKind : std::uint8_t { stream_header = 1, data = 2, end = 3 };

/// What a payload holds. Any other number may be that of a family's own records (record_kinds.hpp) or payloads
/// (payload_kinds.hpp).
enum class Schema : std::uint8_t {
  none = 0,              // nothing: the end of a stream
  petsird = 1,           // bytes of a PETSIRD stream as they are
  coincidences = 2,      // arrays: detector1, detector2 (uint32)
  tof_coincidences = 3,  // arrays: detector1, detector2 (uint32), ToF in mm (float32)
};

/// Bytes an event in a payload of fixed-size records; 0 where events have no fixed size, or the schema is not known.
std::size_t record_bytes(Schema schema);

inline constexpr std::uint16_t flag_delayed = 1;  // records of delayed coincidences, not of prompts

struct FrameHeader {
  FrameKind kind = FrameKind::data;
  Schema schema = Schema::none;
  std::uint16_t flags = 0;
  std::uint64_t stream = 0;       // drawn at random by the sender, anew for each acquisition
  std::uint64_t sequence = 0;     // 0: the stream header; data from 1, the end follows the last
  std::uint64_t first_event = 0;  // events of the stream in the frames before this one
  std::uint64_t events = 0;       // in this frame: prompts and delayeds, or counts of views
  std::uint64_t start_ns = 0;     // scanner time since the acquisition began: of what is in the frame
  std::uint64_t duration_ns = 0;  // scanner time that the frame's events stand for
  std::uint64_t sent_ns = 0;      // the sender's clock, since 1970-01-01 UTC

  bool is_delayed() const { return (flags & flag_delayed) != 0; }
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

/// A frame that is whole: its header, and its payload where it lies.
struct Frame {
  FrameHeader header;
  std::span<const std::byte> payload;
  std::shared_ptr<const void> owner = nullptr;  // keeps the payload; null: it lies there only for now
};

/// Why bytes are no frame that can be used, in the order in which that is looked for.
enum class FrameFault { too_short, magic, version, header_size, payload_size, checksum, contents };
inline constexpr std::string_view frame_fault_names[] = {"too_short",    "magic",    "version", "header_size",
                                                         "payload_size", "checksum", "contents"};

struct BadFrame {
  FrameFault fault = FrameFault::too_short;
  std::string what;  // one line: what is wrong, and what to do
};

/// Reads one frame from all of the bytes; the payload is not copied.
std::variant<Frame, BadFrame> decode_frame(std::span<const std::byte> bytes);

/// The fields of the header that the bytes begin with, of a frame of this version; for looking through many frames:
/// nothing of them has been checked. None where there is no such header.
std::optional<FrameHeader> peek_header(std::span<const std::byte> bytes);

/// Makes a frame of bytes whose payload is in place behind room for the header: writes header and checksum. Throws
/// std::invalid_argument where the header's fields do not fit together, or to the payload's size.
void seal_frame(const FrameHeader& header, std::span<std::byte> frame);

/// The whole frame. Throws as seal_frame does.
std::vector<std::byte> encode_frame(const FrameHeader& header, std::span<const std::byte> payload);

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
