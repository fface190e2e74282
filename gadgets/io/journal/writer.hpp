// Appends to a journal: a folder of numbered segments that hold frames as they came, and notes (share/doc/journal.md).
// What append_*() has returned from survives the end of this program, however it ends; what survives the end of the
// machine is the sync policy's matter.
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
  /// fsync: after each entry (0 ms), so often (N ms), or as the system likes (none).
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
  /// Makes the folder and its first segment; or continues the journal that it holds, having cut off what lies behind
  /// the last sound entry: the first entry that is appended begins a new segment. Throws std::runtime_error in one
  /// line, with what to do: the folder cannot be written, or is being written already.
  explicit Writer(std::filesystem::path folder, const WriterOptions& options = {});
  /// Syncs, where the policy says more than none.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Appends a frame as it came in at `ingress_ns` (since 1970-01-01 UTC; 0: now). Where the disk is full, or fails,
  /// throws std::runtime_error, takes the part of the entry that was written back, and does so at every later call: the
  /// journal then ends with the last entry that was appended.
  Appended append_frame(std::span<const std::byte> frame, std::uint64_t ingress_ns = 0);
  /// Appends a note: `name` of at most longest_name bytes says whose it is. Throws likewise.
  Appended append_note(std::string_view name, std::span<const std::byte> bytes);
  /// Writes all that was appended to the disk now.
  void sync();

  const std::filesystem::path& folder() const { return folder_; }
  /// Entries that were there when it was opened.
  std::uint64_t entries_before() const { return entries_before_; }
  /// Bytes of a torn end that were cut off then.
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
  std::string failure_;                                   // the first one's message; nothing more is written then
  std::jthread syncing_;
};

/// The one writer of this program for the folder, made with `options` where there is none yet: so that a source which
/// records and a gadget which notes write to the same journal. Throws as the writer's constructor does.
std::shared_ptr<Writer> shared_writer(const std::filesystem::path& folder, const WriterOptions& options = {});

}  // namespace tofstream::journal
