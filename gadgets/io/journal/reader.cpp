// Entries of a journal in their order: see reader.hpp.
#include "gadgets/io/journal/reader.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "gadgets/io/wire/checksum.hpp"

namespace tofstream::journal {
namespace {

constexpr std::string_view extension = ".journal";
constexpr std::size_t name_digits = 8;

}  // namespace

std::string segment_name(std::uint64_t number) {
  return fmt::format("{:0{}}{}", number, name_digits, extension);
}

std::optional<std::uint64_t> segment_number(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
  if (file.extension() != extension || error != std::errc() || end != stem.data() + stem.size()) return {};
  return segment_name(number) == file.filename() ? std::optional(number) : std::nullopt;
}

bool is_journal(const std::filesystem::path& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (segment_number(entry.path())) return true;
  return false;
}

Reader::Reader(std::filesystem::path folder) : folder_(std::move(folder)) {
  list_segments();
  std::ranges::sort(segments_, {}, &Segment::number);
  if (const std::string wrong = find_journal(); !journal_)
    throw std::runtime_error(wrong + ": nothing of the journal can be read");
}

void Reader::list_segments() {
  if (std::filesystem::is_regular_file(folder_)) {
    segments_.push_back({folder_, 0, std::filesystem::file_size(folder_)});
    return;
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error))
    if (const auto number = segment_number(entry.path()))
      segments_.push_back({entry.path(), *number, std::filesystem::file_size(entry.path())});
  if (error) throw std::runtime_error(fmt::format("cannot read the journal {}: {}", folder_.string(), error.message()));
  if (segments_.empty())
    throw std::runtime_error(
        fmt::format("{} is no journal: it has no segments ({}, ...)", folder_.string(), segment_name(1)));
}

// Sets the journal's number, from a segment's header or else from an entry. Returns what is wrong with the first
// header.
std::string Reader::find_journal() {
  std::string first_wrong;
  for (std::size_t k = 0; k < segments_.size() && !journal_; ++k) {
    open(k);
    std::array<std::byte, segment_header_bytes> bytes;
    std::string wrong;
    const auto header = decode_segment(std::span(bytes).first(file_->read(0, bytes)), wrong);
    if (header) journal_ = header->journal;
    if (first_wrong.empty()) first_wrong = fmt::format("{} {}", segments_[k].path.string(), wrong);
  }
  for (std::size_t k = 0; k < segments_.size() && !journal_; ++k) {
    open(k);
    if (const auto found = find_entry(segment_header_bytes)) journal_ = header_at(*found)->journal;
  }
  return first_wrong;
}

void Reader::open(std::size_t segment) {
  const auto& path = segments_[segment].path;
  file_ = std::make_shared<const PlacedFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path, "read");
  opened_ = segment;
}

std::uint64_t Reader::bytes() const {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.size;
  return sum;
}

std::optional<Entry> Reader::next() {
  return read({});
}

std::optional<Entry> Reader::next_head(std::size_t most) {
  return read(most);
}

void Reader::go_to(Position position) {
  next_ = given_at_ = position;
  expected_.reset();
  counts_.torn_bytes = 0;
}

std::optional<Entry> Reader::read(std::optional<std::size_t> head) {
  counts_.torn_bytes = 0;
  while (next_.segment < segments_.size()) {
    if (!open_segment()) continue;
    const auto header = header_at(next_.offset);
    if (!header) {
      if (!skip_damage()) return {};
      continue;
    }
    const std::uint64_t end = next_.offset + header->whole_size();
    if (!read_entry(*header, head)) {
      if (end == file_->size() && is_last()) {  // nothing follows: it was being written
        counts_.torn_bytes = header->whole_size();
        return {};
      }
      skip_to(end);
      continue;
    }
    given_at_ = std::exchange(next_, {next_.segment, end});
    end_of_last_ = next_;
    return give(*header);
  }
  return {};
}

// Opens the segment to be read, with the offset after its header. False if the segment is skipped.
bool Reader::open_segment() {
  if (opened_ != next_.segment) open(next_.segment);
  return next_.offset >= segment_header_bytes || pass_over_header();
}

bool Reader::pass_over_header() {
  std::array<std::byte, segment_header_bytes> bytes;
  std::string wrong;
  const std::size_t size = file_->read(0, bytes);
  const auto header = decode_segment(std::span(bytes).first(size), wrong);
  if (header && header->journal == journal_) {
    if (expected_ && header->first_entry > *expected_) counts_.missing_entries += header->first_entry - *expected_;
    expected_ = std::max(header->first_entry, expected_.value_or(0));
    next_.offset = segment_header_bytes;
    end_of_last_ = next_;
    return true;
  }
  if (size < segment_header_bytes && is_last()) {
    counts_.torn_bytes = size;
  } else {
    ++counts_.damaged_places;
    counts_.damaged_bytes += size;
  }
  next_.offset = size;
  if (size == segment_header_bytes) return true;  // its entries may be sound
  next_ = {next_.segment + 1, 0};
  return false;
}

// A sound header whose entry is complete.
std::optional<EntryHeader> Reader::header_at(std::uint64_t offset) const {
  std::array<std::byte, entry_header_bytes> bytes;
  const auto header = decode_entry(std::span(bytes).first(file_->read(offset, bytes)));
  if (!header || header->journal != journal_.value_or(header->journal)) return {};
  return offset + header->whole_size() <= file_->size() ? header : std::nullopt;
}

// Reads name and bytes; true if they are as written, where that is to be checked.
bool Reader::read_entry(const EntryHeader& header, std::optional<std::size_t> head) {
  const std::size_t size = header.name_size + std::min<std::uint64_t>(header.size, head.value_or(header.size));
  buffer_ = std::make_shared<Buffer<std::byte>>(Memory::host, static_cast<std::int64_t>(size));
  if (file_->read(next_.offset + entry_header_bytes, buffer_->span()) != size) return false;
  return head || wire::crc32c(buffer_->span()) == header.checksum;
}

Entry Reader::give(const EntryHeader& header) {
  if (expected_ && header.number > *expected_) counts_.missing_entries += header.number - *expected_;
  expected_ = header.number + 1;
  last_ingress_ns_ = header.ingress_ns;
  ++counts_.entries;
  const std::span<const std::byte> all = buffer_->span();
  return {.kind = header.kind,
          .number = header.number,
          .ingress_ns = header.ingress_ns,
          .name = {reinterpret_cast<const char*>(all.data()), header.name_size},
          .bytes = all.subspan(header.name_size),
          .size = header.size,
          .owner = buffer_};
}

// Called where no sound entry begins: at the end of a segment, or in damage. False if nothing follows.
bool Reader::skip_damage() {
  const std::uint64_t size = file_->size();
  if (next_.offset >= size) {
    if (is_last()) return false;
    next_ = {next_.segment + 1, 0};
    return true;
  }
  if (const auto found = find_entry(next_.offset + alignment)) return skip_to(*found);
  if (is_last()) {
    counts_.torn_bytes = size - next_.offset;
    return false;
  }
  skip_to(size);
  next_ = {next_.segment + 1, 0};
  return true;
}

bool Reader::skip_to(std::uint64_t offset) {
  ++counts_.damaged_places;
  counts_.damaged_bytes += offset - next_.offset;
  next_.offset = offset;
  return true;
}

// The first sound entry of this journal at or after `from`.
std::optional<std::uint64_t> Reader::find_entry(std::uint64_t from) const {
  constexpr std::size_t chunk = std::size_t{1} << 20U;
  std::vector<std::byte> bytes(chunk + entry_header_bytes);
  for (;; from += chunk) {
    const std::span<const std::byte> there(bytes.data(), file_->read(from, bytes));
    for (std::size_t at = 0; at < chunk && at + entry_header_bytes <= there.size(); at += alignment)
      if (decode_entry(there.subspan(at)) && header_at(from + at)) return from + at;
    if (there.size() < bytes.size()) return {};
  }
}

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
