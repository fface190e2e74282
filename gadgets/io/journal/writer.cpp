// Appending to a journal: see writer.hpp.
#include "gadgets/io/journal/writer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/make_folder.hpp"
#include "gadgets/io/journal/reader.hpp"
#include "gadgets/io/random_identity.hpp"
#include "gadgets/io/wall_clock.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream::journal {
namespace {

std::shared_ptr<const PlacedFile> open_segment(const std::filesystem::path& path, int flags, const char* action) {
  return std::make_shared<const PlacedFile>(::open(path.c_str(), flags | O_CLOEXEC, 0666), path, action);
}

}  // namespace

Writer::Writer(std::filesystem::path folder, const WriterOptions& options)
    : folder_(std::move(folder)), options_(options) {
  try {
    make_folder(folder_);
    lock_folder();
    if (is_journal(folder_)) {
      continue_journal();
    } else {
      journal_ = random_identity();
      begin_segment();
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("the journal {} cannot be written: {}: name another folder", folder_.string(), error.what()));
  }
  if (options_.sync_every && options_.sync_every->count() > 0)
    syncing_ = std::jthread([this](const std::stop_token& stop) { keep_syncing(stop); });
}

Writer::~Writer() {
  if (syncing_.joinable()) {
    syncing_.request_stop();
    syncing_.join();
  }
  std::unique_lock lock(mutex_);
  if (options_.sync_every) sync_dirty(lock);
}

void Writer::lock_folder() {
  const int descriptor = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  lock_ = std::make_unique<const PlacedFile>(descriptor, folder_, "open");
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    throw std::runtime_error(errno == EWOULDBLOCK ? "it is being written already" : std::strerror(errno));
  if (::access(folder_.c_str(), W_OK) != 0) throw std::runtime_error(std::strerror(errno));
}

// Finds the last sound entry and cuts off the torn bytes after it.
void Writer::continue_journal() {
  Reader reader(folder_);
  journal_ = reader.journal();
  std::vector<std::uint64_t> numbers;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (const auto number = segment_number(entry.path())) numbers.push_back(*number);
  std::ranges::sort(numbers);
  segment_number_ = numbers.back();
  for (std::size_t k = numbers.size(); k-- > 0;) {
    reader.go_to({k, 0});
    while (reader.next()) {
    }
    if (reader.end_of_last().offset == 0) continue;  // even its header is incomplete
    next_entry_ = entries_before_ = reader.next_number();
    last_ingress_ns_ = reader.last_ingress_ns();
    break;
  }
  cut_bytes_ = reader.counts().torn_bytes;
  if (cut_bytes_ == 0) return;
  const auto path = folder_ / segment_name(numbers.back());
  const auto last = open_segment(path, O_RDWR, "open");
  if (cut_bytes_ == last->size())
    std::filesystem::remove(path);
  else
    last->truncate(last->size() - cut_bytes_);
}

void Writer::begin_segment() {
  const SegmentHeader header{
      .journal = journal_, .segment = ++segment_number_, .first_entry = next_entry_, .created_ns = wall_clock_ns()};
  const auto path = folder_ / segment_name(header.segment);
  const auto segment = open_segment(path, O_RDWR | O_CREAT | O_EXCL, "make");
  const auto bytes = encode(header);
  const std::span<const std::byte> pieces[] = {bytes};
  try {
    segment->write(0, pieces);
  } catch (const std::exception&) {
    std::filesystem::remove(path);
    throw;
  }
  segment_ = segment;
  segment_end_ = bytes.size();
  written_bytes_ += bytes.size();
  dirty_.push_back(segment_);
  if (options_.sync_every) (void)lock_->sync();  // the segment's name
}

Appended Writer::append_frame(std::span<const std::byte> frame, std::uint64_t ingress_ns) {
  return append(EntryKind::frame, {}, frame, ingress_ns);
}

Appended Writer::append_note(std::string_view name, std::span<const std::byte> bytes) {
  return append(EntryKind::note, name, bytes, 0);
}

Appended Writer::append(EntryKind kind, std::string_view name, std::span<const std::byte> bytes,
                        std::uint64_t ingress_ns) {
  if (name.size() > longest_name || bytes.size() > largest_entry)
    throw std::invalid_argument("an entry that is too large for a journal");
  const auto name_bytes = std::as_bytes(std::span(name));
  EntryHeader header{.kind = kind,
                     .name_size = static_cast<std::uint8_t>(name.size()),
                     .checksum = wire::crc32c(bytes, wire::crc32c(name_bytes)),
                     .size = bytes.size(),
                     .journal = journal_};
  std::unique_lock lock(mutex_);
  if (!failure_.empty()) throw std::runtime_error(failure_);
  header.number = next_entry_;
  header.ingress_ns = std::max(last_ingress_ns_, ingress_ns > 0 ? ingress_ns : wall_clock_ns());
  const std::uint64_t whole = header.whole_size();
  const auto header_bytes = encode(header);
  constexpr std::array<std::byte, alignment> zeros{};
  const std::size_t padding = whole - entry_header_bytes - name.size() - bytes.size();
  const std::span<const std::byte> pieces[] = {header_bytes, name_bytes, bytes, std::span(zeros).first(padding)};
  try {
    if (!segment_ || segment_end_ >= options_.segment_bytes) begin_segment();
    segment_->write(segment_end_, pieces);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  if (!failure_.empty()) throw std::runtime_error(failure_);
  const FilePlace place{segment_, segment_end_ + entry_header_bytes + name.size(), bytes.size()};
  segment_end_ += whole;
  written_bytes_ += whole;
  last_ingress_ns_ = header.ingress_ns;
  ++next_entry_;
  if (dirty_.empty() || dirty_.back() != segment_) dirty_.push_back(segment_);
  if (options_.sync_every && options_.sync_every->count() == 0) sync_dirty(lock);
  if (!failure_.empty()) throw std::runtime_error(failure_);
  return {header.number, place};
}

void Writer::sync() {
  std::unique_lock lock(mutex_);
  sync_dirty(lock);
  if (!failure_.empty()) throw std::runtime_error(failure_);
}

void Writer::keep_syncing(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, *options_.sync_every, [&] { return stop.stop_requested(); })) {
    if (stop.stop_requested()) return;
    sync_dirty(lock);
  }
}

// Other threads append meanwhile.
void Writer::sync_dirty(std::unique_lock<std::mutex>& lock) {
  const auto dirty = std::exchange(dirty_, {});
  lock.unlock();
  int cause = 0;
  for (const auto& segment : dirty)
    if (const int failed = segment->sync(); failed != 0) cause = failed;
  lock.lock();
  if (cause != 0 && failure_.empty()) fail(fmt::format("cannot write {}: {}", folder_.string(), std::strerror(cause)));
}

void Writer::fail(const std::string& cause) {
  failure_ = fmt::format("{}: the journal ends with its {} entries; make room, then resume it, or name another folder",
                         cause, next_entry_);
  if (!segment_) return;
  try {
    segment_->truncate(segment_end_);
  } catch (const std::exception&) {  // every reader detects a torn end
  }
}

std::shared_ptr<Writer> shared_writer(const std::filesystem::path& folder, const WriterOptions& options) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::weak_ptr<Writer>> writers;
  const std::lock_guard lock(mutex);
  // weakly_canonical() leaves a relative path relative while the folder is not there yet.
  auto& known = writers[std::filesystem::weakly_canonical(std::filesystem::absolute(folder))];
  std::shared_ptr<Writer> writer = known.lock();
  if (!writer) known = writer = std::make_shared<Writer>(folder, options);
  return writer;
}

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
