// Reads a journal from its first sound entry to its last (share/doc/journal.md): damage in the middle is counted and
// skipped, a torn end is counted separately. May read while a writer appends; it then ends where the writer was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/placed_file.hpp"
#include "gadgets/io/journal/layout.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::journal {

constexpr double s_per_ns = 1e-9;

/// One entry; its views hold until the reader's next call, and as long as somebody keeps their owner.
struct Entry {
  EntryKind kind = EntryKind::frame;
  std::uint64_t number = 0;
  std::uint64_t ingress_ns = 0;  // since 1970-01-01 UTC
  std::string_view name;         // of a note
  std::span<const std::byte> bytes;
  std::uint64_t size = 0;  // of all its bytes; more than bytes.size() if only the first were requested
  std::shared_ptr<const void> owner = nullptr;
};

/// A place in the journal that a reader can go back to.
struct Position {
  std::size_t segment = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

class Reader {
 public:
  struct Counts {
    std::uint64_t entries = 0;          // given
    std::uint64_t missing_entries = 0;  // found by the numbers of those present
    std::uint64_t damaged_places = 0;   // stretches that were skipped
    std::uint64_t damaged_bytes = 0;    // in them
    std::uint64_t torn_bytes = 0;       // after the last sound entry of the last segment
  };

  /// Reads a journal's folder, or one of its segments. Throws std::runtime_error, one line, if it is not a journal or
  /// is of another version.
  explicit Reader(std::filesystem::path folder);

  /// The next sound entry, its checksum checked; none at the end.
  std::optional<Entry> next();
  /// The head of the next entry: name and at most the first `most` of its bytes, whose checksum is not checked. To
  /// search a journal: only heads are read from the disk.
  std::optional<Entry> next_head(std::size_t most);

  /// Beginning of the entry that the last call gave; before the first call, the journal's beginning.
  Position position() const { return given_at_; }
  /// Continues reading there. Counts are not reset.
  void go_to(Position position);

  const Counts& counts() const { return counts_; }
  std::uint64_t journal() const { return journal_.value_or(0); }
  /// Segments, and their bytes, when the reader was made.
  std::size_t segments() const { return segments_.size(); }
  std::uint64_t bytes() const;
  /// End of the last entry that was given, or of the header of a segment opened since.
  Position end_of_last() const { return end_of_last_; }
  /// The number that follows the last given entry's, and that entry's ingress time.
  std::uint64_t next_number() const { return expected_.value_or(0); }
  std::uint64_t last_ingress_ns() const { return last_ingress_ns_; }

 private:
  struct Segment {
    std::filesystem::path path;
    std::uint64_t number = 0;
    std::uint64_t size = 0;
  };

  std::optional<Entry> read(std::optional<std::size_t> head);
  void list_segments();
  std::string find_journal();
  void open(std::size_t segment);
  bool open_segment();
  bool pass_over_header();
  std::optional<EntryHeader> header_at(std::uint64_t offset) const;
  bool read_entry(const EntryHeader& header, std::optional<std::size_t> head);
  Entry give(const EntryHeader& header);
  bool skip_damage();
  bool skip_to(std::uint64_t offset);
  std::optional<std::uint64_t> find_entry(std::uint64_t from) const;
  bool is_last() const { return next_.segment + 1 == segments_.size(); }

  const std::filesystem::path folder_;
  std::vector<Segment> segments_;
  std::optional<std::uint64_t> journal_;
  std::shared_ptr<const PlacedFile> file_;  // of the open segment
  std::optional<std::size_t> opened_;
  Position next_, given_at_, end_of_last_;
  std::optional<std::uint64_t> expected_;  // number of the next entry
  std::uint64_t last_ingress_ns_ = 0;
  std::shared_ptr<Buffer<std::byte>> buffer_;  // of the last entry
  Counts counts_;
};

/// Whether the folder has a segment of a journal.
bool is_journal(const std::filesystem::path& folder);

/// The file name of a segment: 00000001.journal.
std::string segment_name(std::uint64_t number);

/// The number in a segment's file name; none for another file's name.
std::optional<std::uint64_t> segment_number(const std::filesystem::path& file);

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
