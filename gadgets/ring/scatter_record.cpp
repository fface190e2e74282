// What single_scatter knows after each update: see scatter_record.hpp.
#include "gadgets/ring/scatter_record.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream {

namespace {

// As they lie in the file, little-endian.
struct EntryHeader {
  std::array<char, 4> magic = {'T', 'O', 'F', 'S'};
  std::uint32_t kind = 0;
  std::int64_t update = 0;
  std::uint64_t bytes = 0;  // that follow
  std::uint32_t version = 1;
  std::uint32_t checksum = 0;  // CRC32C of the header before it and of these bytes
};
struct NotedHead {
  std::uint64_t seen = 0, stride = 1, looked_at = 0;
  double exposed_s = 0;
  std::uint64_t has_tof = 0;
};
struct MadeHead {
  std::int32_t iteration = 0, size[5] = {};
  double reference_s = 1;
  float radial_mm = 1, axial_mm = 1, tof_mm = 1, unused = 0;
};
static_assert(sizeof(EntryHeader) == 32 && sizeof(NotedHead) == 40 && sizeof(MadeHead) == 48);
static_assert(sizeof(ScatterTails::TailEvent) == 40 && std::endian::native == std::endian::little);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::uint32_t checksum_of(const EntryHeader& header, std::span<const std::byte> head,
                          std::span<const std::byte> values) {
  return wire::crc32c(values,
                      wire::crc32c(head, wire::crc32c(bytes_of(header).first(offsetof(EntryHeader, checksum)))));
}

std::vector<std::byte> content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {};
  const std::vector<char> read{std::istreambuf_iterator<char>(stream), {}};
  const auto bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

struct ScatterRecord::Entry {
  Kind kind;
  std::span<const std::byte> content;
  std::size_t end = 0;  // in the file

  /// Takes the head from the content; nothing where that is too short.
  template <class Head>
  std::optional<Head> head() const {
    if (content.size() < sizeof(Head)) return std::nullopt;
    Head made;
    std::memcpy(&made, content.data(), sizeof(Head));
    return made;
  }
  template <class Value>
  std::optional<std::vector<Value>> values(std::size_t behind) const {
    if ((content.size() - behind) % sizeof(Value) != 0) return std::nullopt;
    std::vector<Value> made((content.size() - behind) / sizeof(Value));
    if (!made.empty()) std::memcpy(made.data(), content.data() + behind, content.size() - behind);
    return made;
  }
};

// What a process was about to write when it was killed is cut short, and of a later update than any checkpoint.
std::vector<ScatterRecord::Entry> ScatterRecord::entries_until(std::span<const std::byte> bytes,
                                                               const std::filesystem::path& file, std::int64_t update) {
  std::vector<Entry> found;
  for (std::size_t at = 0; at + sizeof(EntryHeader) <= bytes.size();) {
    EntryHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const auto content = bytes.subspan(at + sizeof header);
    const bool is_header = header.magic == EntryHeader{}.magic && header.version == EntryHeader{}.version;
    if (is_header && header.update > update) break;
    if (is_header && header.bytes > content.size()) break;
    if (!is_header || header.checksum != checksum_of(header, content.first(header.bytes), {}))
      throw std::runtime_error(
          fmt::format("{} is damaged at byte {}: delete it, and the scatter is estimated anew", file.string(), at));
    at += sizeof header + header.bytes;
    found.push_back({static_cast<Kind>(header.kind), content.first(header.bytes), at});
  }
  return found;
}

RecordedScatter ScatterRecord::read(const std::filesystem::path& file, std::int64_t update) {
  const auto bytes = content_of(file);
  RecordedScatter known;
  const auto take_noted = [&](const Entry& entry) {
    const auto head = entry.head<NotedHead>();
    const auto events = head ? entry.values<ScatterTails::TailEvent>(sizeof(NotedHead)) : std::nullopt;
    if (!events || head->stride == 0) return false;
    ScatterTails::Noted& tails = known.tails;
    tails.seen = head->seen;
    tails.looked_at = head->looked_at;
    tails.exposed_s = head->exposed_s;
    tails.has_tof = head->has_tof != 0;
    if (std::exchange(tails.stride, head->stride) != head->stride)
      std::erase_if(tails.events, [&](const auto& event) { return event.number % head->stride != 0; });
    tails.events.insert(tails.events.end(), events->begin(), events->end());
    return known.has_tails = true;
  };
  const auto take_made = [&](const Entry& entry) {
    const auto head = entry.head<MadeHead>();
    auto values = head ? entry.values<float>(sizeof(MadeHead)) : std::nullopt;
    if (!values) return false;
    known.estimate = std::make_shared<ScatterEstimate>();
    std::copy_n(head->size, 5, known.estimate->size.begin());
    known.estimate->radial_mm = head->radial_mm;
    known.estimate->axial_mm = head->axial_mm;
    known.estimate->tof_mm = head->tof_mm;
    known.estimate->values = std::move(*values);
    known.iteration = head->iteration;
    known.reference_s = head->reference_s;
    return true;
  };
  for (const Entry& entry : entries_until(bytes, file, update)) {
    bool is_whole = true;
    if (entry.kind == Kind::noted) is_whole = take_noted(entry);
    if (entry.kind == Kind::made) is_whole = take_made(entry);
    if (entry.kind == Kind::begun_anew) known.estimate = nullptr, known.iteration = 0;
    if (!is_whole)
      throw std::runtime_error(
          fmt::format("{} is no record of this version: delete it, and the scatter is estimated anew", file.string()));
  }
  if (known.estimate) validate(*known.estimate);
  return known;
}

ScatterRecord ScatterRecord::going_on(std::filesystem::path file, const std::filesystem::path& from,
                                      std::int64_t update) {
  ScatterRecord made(std::move(file));
  made.before_ = content_of(from);
  const auto entries = entries_until(made.before_, from, update);
  made.before_.resize(entries.empty() ? 0 : entries.back().end);
  return made;
}

void ScatterRecord::begin() {
  AtomicFile begun(file_);
  begun.write(std::exchange(before_, {}));
  begun.commit(AtomicFile::Flush::later);
  stream_.open(file_, std::ios::binary | std::ios::app);
}

void ScatterRecord::noted(std::int64_t update, const ScatterTails::Noted& tails, std::uint64_t seen_before) {
  const NotedHead head{tails.seen, tails.stride, tails.looked_at, tails.exposed_s, tails.has_tof};
  const auto first = std::ranges::lower_bound(tails.events, seen_before, {}, &ScatterTails::TailEvent::number);
  append(Kind::noted, update, bytes_of(head), std::as_bytes(std::span(first, tails.events.end())));
}

void ScatterRecord::made(std::int64_t update, const ScatterEstimate& estimate, int iteration, double reference_s) {
  MadeHead head{.iteration = iteration,
                .reference_s = reference_s,
                .radial_mm = estimate.radial_mm,
                .axial_mm = estimate.axial_mm,
                .tof_mm = estimate.tof_mm};
  std::ranges::copy(estimate.size, head.size);
  append(Kind::made, update, bytes_of(head), std::as_bytes(std::span(estimate.values)));
}

void ScatterRecord::begun_anew(std::int64_t update) {
  append(Kind::begun_anew, update, {}, {});
}

void ScatterRecord::append(Kind kind, std::int64_t update, std::span<const std::byte> head,
                           std::span<const std::byte> values) {
  EntryHeader header{.kind = static_cast<std::uint32_t>(kind), .update = update, .bytes = head.size() + values.size()};
  header.checksum = checksum_of(header, head, values);
  for (const auto part : {bytes_of(header), head, values})
    stream_.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  if (stream_.flush()) return;
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(),
                          fmt::format("cannot write {}", file_.string()));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
