// Recordings that are sent as the frames of a live stream, by `tofstream send`: a family registers what its files are by
// TOFSTREAM_STREAM_FILE. What no kind holds is taken for PETSIRD, whose reader says what it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/kind_table.hpp"

namespace tofstream {

class StreamFile {
 public:
  StreamFile() = default;
  virtual ~StreamFile() = default;
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  /// The next frame: the stream's header first, then data, last the end, and after it none. Throws std::runtime_error,
  /// one line, where the file cannot be read.
  virtual std::optional<std::vector<std::byte>> next() = 0;
  /// Scan time of all data so far, those that next() gave last included.
  virtual std::uint64_t scanned_ns() const = 0;
};

struct StreamFileKind {
  std::string name;                                            // "projections"
  bool (*holds)(const std::filesystem::path& file) = nullptr;  // whether the file is of this kind
  /// Throws std::runtime_error, one line, where the file cannot be read.
  std::unique_ptr<StreamFile> (*open)(const std::filesystem::path& file) = nullptr;

  static constexpr KindWords called = {"kind of recording", "kinds of recordings", "name"};
  const std::string& id() const { return name; }
  std::string problem() const { return holds && open ? "" : "a kind of recording needs holds and open"; }
};

extern template KindTable<StreamFileKind>& table_of<StreamFileKind>();
extern template struct KindRegistration<StreamFileKind>;

/// What can be sent besides journals, in a list: "a PETSIRD file, projections".
std::string stream_files_in_words();
/// The kind that holds the file; null where none does.
const StreamFileKind* find_stream_file_kind(const std::filesystem::path& file);

}  // namespace tofstream

// Registers a kind of recording. Once, at namespace scope of a source file:
//
//     TOFSTREAM_STREAM_FILE("projections", are_views, open_projections);
#define TOFSTREAM_STREAM_FILE(kind_name, holds_file, open_file) \
  TOFSTREAM_KIND(::tofstream::StreamFileKind,                   \
                 ::tofstream::StreamFileKind{.name = kind_name, .holds = holds_file, .open = open_file})
// SPDX-License-Identifier: Apache-2.0
