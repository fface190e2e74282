// A journal byte by byte (share/doc/journal.md): a folder of segments. A segment is a header of 48 bytes, then entries;
// an entry is a header of 48 bytes, a name, bytes, and zeros up to a multiple of 8. Pure functions over bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tofstream::journal {

inline constexpr std::string_view segment_magic = "TOFJ", entry_magic = "TOFE";
inline constexpr std::uint16_t journal_version = 1;
inline constexpr std::size_t segment_header_bytes = 48, entry_header_bytes = 48;
inline constexpr std::size_t alignment = 8;  // of entries in a segment
inline constexpr std::size_t longest_name = 255;
inline constexpr std::uint64_t largest_entry = std::uint64_t{1} << 32U;  // bytes, without its header and name

/// What an entry is.
enum class EntryKind : std::uint8_t {
  frame = 1,  // a message as it came, whether or not it is a sound frame (share/doc/wire.md)
  note = 2,   // a gadget's own: a name, and bytes that only that gadget understands
};

struct SegmentHeader {
  std::uint64_t journal = 0;      // drawn at random for each journal
  std::uint64_t segment = 0;      // from 1, as in the file's name
  std::uint64_t first_entry = 0;  // number of the first entry
  std::uint64_t created_ns = 0;   // since 1970-01-01 UTC

  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

struct EntryHeader {
  EntryKind kind = EntryKind::frame;
  std::uint8_t name_size = 0;
  std::uint32_t checksum = 0;    // CRC32C of name and bytes
  std::uint64_t size = 0;        // of the bytes
  std::uint64_t number = 0;      // of the entry in its journal, from 0
  std::uint64_t ingress_ns = 0;  // since 1970-01-01 UTC, never less than in the entry before
  std::uint64_t journal = 0;

  /// Bytes from the entry's beginning to the next entry's.
  std::uint64_t whole_size() const {
    return (entry_header_bytes + name_size + size + alignment - 1) / alignment * alignment;
  }
  friend bool operator==(const EntryHeader&, const EntryHeader&) = default;
};

/// The bytes of a header as they stand in the file, with its checksum.
std::array<std::byte, segment_header_bytes> encode(const SegmentHeader& header);
std::array<std::byte, entry_header_bytes> encode(const EntryHeader& header);

/// The entry header at the beginning of the bytes; none if it is not sound.
std::optional<EntryHeader> decode_entry(std::span<const std::byte> bytes);

/// The segment header at the beginning of the bytes. If it is not sound, `wrong` says why, in words that follow the
/// file's name.
std::optional<SegmentHeader> decode_segment(std::span<const std::byte> bytes, std::string& wrong);

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
