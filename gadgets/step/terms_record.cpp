// What an estimator of additive terms knows after each update: see terms_record.hpp.
#include "gadgets/step/terms_record.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream {

namespace {

// As it lies in the file, little-endian.
struct EntryHeader {
  std::array<char, 4> magic = {'T', 'O', 'F', 'S'};
  std::uint32_t kind = 0;
  std::int64_t update = 0;
  std::uint64_t bytes = 0;  // that follow
  std::uint32_t version = 1;
  std::uint32_t checksum = 0;  // CRC32C of the header before it and of these bytes
};
static_assert(sizeof(EntryHeader) == 32 && std::endian::native == std::endian::little);

std::uint32_t checksum_of(const EntryHeader& header, std::span<const std::byte> head,
                          std::span<const std::byte> values) {
  return wire::crc32c(values,
                      wire::crc32c(head, wire::crc32c(bytes_of(header).first(offsetof(EntryHeader, checksum)))));
}

EntryHeader header_of(TermsEntry kind, std::int64_t update, std::span<const std::byte> head,
                      std::span<const std::byte> values = {}) {
  EntryHeader header{.kind = static_cast<std::uint32_t>(kind), .update = update, .bytes = head.size() + values.size()};
  header.checksum = checksum_of(header, head, values);
  return header;
}

// Whether an entry stays where a record is shortened.
bool is_noted(const EntryHeader& header) {
  return header.kind == static_cast<std::uint32_t>(TermsEntry::noted) ||
         header.kind == static_cast<std::uint32_t>(TermsEntry::begun_anew);
}

std::vector<std::byte> content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {};
  const std::vector<char> read{std::istreambuf_iterator<char>(stream), {}};
  const auto bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

// Calls take(header, content) for the entries up to an update; returns where they end. What a process was about to write
// when it was killed is cut short, and of a later update than any checkpoint.
template <class Take>
std::size_t for_entries(std::span<const std::byte> bytes, const std::filesystem::path& file, std::int64_t update,
                        const Take& take) {
  std::size_t at = 0;
  while (at + sizeof(EntryHeader) <= bytes.size()) {
    EntryHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const auto behind = bytes.subspan(at + sizeof header);
    const bool is_header = header.magic == EntryHeader{}.magic && header.version == EntryHeader{}.version;
    if (is_header && (header.update > update || header.bytes > behind.size())) break;
    if (!is_header || header.checksum != checksum_of(header, behind.first(header.bytes), {}))
      throw std::runtime_error(
          fmt::format("{} is damaged at byte {}: delete it, and the scatter is estimated anew", file.string(), at));
    take(header, behind.first(header.bytes));
    at += sizeof header + header.bytes;
  }
  return at;
}

}  // namespace

std::vector<TermsRecord::Entry> TermsRecord::read(const std::filesystem::path& file, std::int64_t update) {
  std::vector<Entry> found;
  for_entries(content_of(file), file, update, [&](const EntryHeader& header, std::span<const std::byte> content) {
    found.push_back({static_cast<TermsEntry>(header.kind), header.update, {content.begin(), content.end()}});
  });
  return found;
}

void TermsRecord::refuse(const std::filesystem::path& file) {
  throw std::runtime_error(
      fmt::format("{} is no record of this version: delete it, and the scatter is estimated anew", file.string()));
}

TermsRecord TermsRecord::going_on(std::filesystem::path file, const std::filesystem::path& from, std::int64_t update) {
  TermsRecord made(std::move(file));
  made.before_ = content_of(from);
  made.before_.resize(for_entries(made.before_, from, update, [](const EntryHeader&, std::span<const std::byte>) {}));
  return made;
}

void TermsRecord::begin() {
  AtomicFile begun(file_);
  begun.write(std::exchange(before_, {}));
  begun.commit(AtomicFile::Flush::later);
  stream_.open(file_, std::ios::binary | std::ios::app);
}

void TermsRecord::shorten(std::int64_t to_update) {
  const std::vector<std::byte> bytes = content_of(file_);
  const EntryHeader shortened = header_of(TermsEntry::shortened, 1, bytes_of(to_update));
  AtomicFile made(file_);
  made.write(bytes_of(shortened));
  made.write(bytes_of(to_update));
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  for_entries(bytes, file_, all, [&](const EntryHeader& header, std::span<const std::byte> content) {
    if (header.update < to_update && !is_noted(header)) return;
    made.write(bytes_of(header));
    made.write(content);
  });
  made.commit(AtomicFile::Flush::later);
  stream_.close();
  stream_.open(file_, std::ios::binary | std::ios::app);
}

void TermsRecord::append(TermsEntry kind, std::int64_t update, std::span<const std::byte> head,
                         std::span<const std::byte> values) {
  if (!stream_.is_open()) begin();
  const EntryHeader header = header_of(kind, update, head, values);
  for (const auto part : {bytes_of(header), head, values})
    stream_.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  if (stream_.flush()) return;
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(),
                          fmt::format("cannot write {}", file_.string()));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
