// Appends to a journal: a folder of numbered segments that hold frames as they came, and notes (share/doc/journal.md).
// Whatever append_*() has written survives the end of this program, however it ends; whether it survives a failure of
// the machine depends on the sync policy.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/placed_file.hpp"
#include "gadgets/io/journal/layout.hpp"

namespace tofstream::journal {

struct WriterOptions {
  std::uint64_t segment_bytes = std::uint64_t{1} << 30U;  // a segment that has reached this is followed by another
  /// fsync: after each entry (0 ms), every N ms, or when the system decides (none).
  std::optional<std::chrono::milliseconds> sync_every = std::chrono::milliseconds(1000);
};

/// Where an entry was put.
struct Appended {
  std::uint64_t number = 0;
  FilePlace bytes;
};

/// Safe from any thread.
class Writer {
 public:
  /// Makes the folder and its first segment, or continues the journal in it: bytes after the last sound entry are cut
  /// off, and the first appended entry begins a new segment. Throws std::runtime_error, one line that says what to do,
  /// if the folder cannot be written or is being written already.
  explicit Writer(std::filesystem::path folder, const WriterOptions& options = {});
  /// Syncs, unless the policy is none.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Appends a frame that came in at `ingress_ns` (since 1970-01-01 UTC; 0: now). If the disk is full or fails, removes
  /// the part of the entry that was written and throws std::runtime_error, now and at every later call, so that the
  /// journal ends with the last whole entry.
  Appended append_frame(std::span<const std::byte> frame, std::uint64_t ingress_ns = 0);
  /// Appends a note: `name`, of at most longest_name bytes, says whose it is. Throws as append_frame does.
  Appended append_note(std::string_view name, std::span<const std::byte> bytes);
  /// Writes everything appended so far to the disk.
  void sync();

  const std::filesystem::path& folder() const { return folder_; }
  /// Entries that were there when it was opened.
  std::uint64_t entries_before() const { return entries_before_; }
  /// Bytes of a torn end that were cut off when it was opened.
  std::uint64_t cut_bytes() const { return cut_bytes_; }
  /// Bytes written by this object.
  std::uint64_t written_bytes() const { return written_bytes_; }

 private:
  Appended append(EntryKind kind, std::string_view name, std::span<const std::byte> bytes, std::uint64_t ingress_ns);
  void lock_folder();
  void continue_journal();
  void begin_segment();
  void keep_syncing(const std::stop_token& stop);
  void sync_dirty(std::unique_lock<std::mutex>& lock);
  void fail(const std::string& cause);

  const std::filesystem::path folder_;
  const WriterOptions options_;
  std::unique_ptr<const PlacedFile> lock_;
  std::uint64_t entries_before_ = 0, cut_bytes_ = 0;
  std::atomic<std::uint64_t> written_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::shared_ptr<const PlacedFile> segment_;
  std::uint64_t journal_ = 0, segment_number_ = 0, segment_end_ = 0, next_entry_ = 0, last_ingress_ns_ = 0;
  std::vector<std::shared_ptr<const PlacedFile>> dirty_;  // segments that were written to since the last sync
  std::string failure_;                                   // of the first failure; nothing is written after it
  std::jthread syncing_;
};

/// The one writer of this program for the folder, made with `options` if there is none yet, so that a recording source
/// and a gadget with notes write to the same journal. Throws as the writer's constructor does.
std::shared_ptr<Writer> shared_writer(const std::filesystem::path& folder, const WriterOptions& options = {});

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
