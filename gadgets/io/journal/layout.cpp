// Headers of a journal to and from bytes: see layout.hpp.
#include "gadgets/io/journal/layout.hpp"

#include <algorithm>
#include <cstring>

#include <boost/endian/buffers.hpp>
#include <fmt/format.h>

#include "gadgets/io/wire/checksum.hpp"

namespace tofstream::journal {
namespace {

namespace endian = boost::endian;
using Magic = std::array<char, 4>;

// As they lie in the file, without padding. The checksum covers the bytes after it.
struct SegmentBytes {
  Magic magic;
  endian::little_uint32_buf_t checksum;
  endian::little_uint16_buf_t version, header_size;
  endian::little_uint32_buf_t reserved;
  endian::little_uint64_buf_t journal, segment, first_entry, created_ns;
};
struct EntryBytes {
  Magic magic;
  endian::little_uint32_buf_t header_checksum, checksum;
  endian::little_uint8_buf_t kind, name_size;
  endian::little_uint16_buf_t reserved;
  endian::little_uint64_buf_t size, number, ingress_ns, journal;
};
static_assert(sizeof(SegmentBytes) == segment_header_bytes && sizeof(EntryBytes) == entry_header_bytes);
constexpr std::size_t covered_from = 8;  // by a header's checksum

std::uint32_t checksum_of(std::span<const std::byte> header) {
  return wire::crc32c(header.subspan(covered_from));
}

Magic magic_of(std::string_view text) {
  Magic magic{};
  std::ranges::copy(text, magic.begin());
  return magic;
}

template <class Raw>
Raw raw_of(std::span<const std::byte> bytes) {
  Raw raw;
  std::memcpy(&raw, bytes.data(), sizeof raw);
  return raw;
}

template <class Raw>
std::array<std::byte, sizeof(Raw)> sealed(const Raw& raw) {
  std::array<std::byte, sizeof(Raw)> bytes;
  std::memcpy(bytes.data(), &raw, sizeof raw);
  const endian::little_uint32_buf_t checksum{checksum_of(bytes)};
  std::memcpy(bytes.data() + sizeof(Magic), &checksum, sizeof checksum);
  return bytes;
}

}  // namespace

std::array<std::byte, segment_header_bytes> encode(const SegmentHeader& header) {
  SegmentBytes raw{};
  raw.magic = magic_of(segment_magic);
  raw.version = journal_version;
  raw.header_size = static_cast<std::uint16_t>(segment_header_bytes);
  raw.journal = header.journal;
  raw.segment = header.segment;
  raw.first_entry = header.first_entry;
  raw.created_ns = header.created_ns;
  return sealed(raw);
}

std::array<std::byte, entry_header_bytes> encode(const EntryHeader& header) {
  EntryBytes raw{};
  raw.magic = magic_of(entry_magic);
  raw.checksum = header.checksum;
  raw.kind = static_cast<std::uint8_t>(header.kind);
  raw.name_size = header.name_size;
  raw.size = header.size;
  raw.number = header.number;
  raw.ingress_ns = header.ingress_ns;
  raw.journal = header.journal;
  return sealed(raw);
}

std::optional<EntryHeader> decode_entry(std::span<const std::byte> bytes) {
  if (bytes.size() < entry_header_bytes) return {};
  const auto raw = raw_of<EntryBytes>(bytes);
  if (!std::ranges::equal(raw.magic, entry_magic)) return {};
  if (raw.header_checksum.value() != checksum_of(bytes.first(entry_header_bytes))) return {};
  const EntryHeader header{.kind = static_cast<EntryKind>(raw.kind.value()),
                           .name_size = raw.name_size.value(),
                           .checksum = raw.checksum.value(),
                           .size = raw.size.value(),
                           .number = raw.number.value(),
                           .ingress_ns = raw.ingress_ns.value(),
                           .journal = raw.journal.value()};
  if (header.kind != EntryKind::frame && header.kind != EntryKind::note) return {};
  if (header.size > largest_entry || raw.reserved.value() != 0) return {};
  return header;
}

std::optional<SegmentHeader> decode_segment(std::span<const std::byte> bytes, std::string& wrong) {
  if (bytes.size() < segment_header_bytes) {
    wrong = "is too short for a segment of a journal";
    return {};
  }
  const auto raw = raw_of<SegmentBytes>(bytes);
  if (!std::ranges::equal(raw.magic, segment_magic)) {
    wrong = "is no segment of a journal";
  } else if (raw.version.value() != journal_version) {
    wrong =
        fmt::format("is of version {} of journals, but only version {} is known", raw.version.value(), journal_version);
  } else if (raw.header_size.value() != segment_header_bytes || raw.reserved.value() != 0 ||
             raw.checksum.value() != checksum_of(bytes.first(segment_header_bytes))) {
    wrong = "has a damaged header";
  } else {
    return SegmentHeader{raw.journal.value(), raw.segment.value(), raw.first_entry.value(), raw.created_ns.value()};
  }
  return {};
}

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
