// The order of a live reconstruction's updates as a file of JSON lines, one an update (share/doc/live.md). With it a
// recording gives the same image that was seen live, even if the program was killed. Version 2 is written; version 1,
// in which an update has one stretch of subsets, is read too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tofstream {

inline constexpr auto* update_log_name = "order.jsonl";

/// Parts [first, first + count) of the scan: subsets in time order, or the groups of views of a camera.
struct UpdateParts {
  int first = 0;
  int count = 1;
  friend bool operator==(const UpdateParts&, const UpdateParts&) = default;
};

/// For parts that grow during the scan: the state that an update used.
struct AsOf {
  std::uint64_t event = 0;  // after so many events of the scan
  double exposed_s = 0;     // the scan time until then, weighted with its exposure
  friend bool operator==(const AsOf&, const AsOf&) = default;
};

/// One update of the estimate that the update before it left: with these parts of the scan together, which have so many
/// events; or a restart from the start image.
struct UpdateRecord {
  std::int64_t update = 0;              // from 1
  std::vector<UpdateParts> parts = {};  // ascending, none twice; none for a restart
  std::uint64_t events = 0;
  std::optional<AsOf> as_of = {};  // none: the parts are whole when they come
  bool restart = false;
  friend bool operator==(const UpdateRecord&, const UpdateRecord&) = default;
};

struct UpdateLog {
  std::vector<UpdateRecord> updates;  // numbered from 1 without gaps
  bool has_ended = false;             // the reconstruction ended normally: no update is missing
};

/// Reads a log, or the log of a folder. A last line that was cut short is left out. Throws std::runtime_error, which
/// names file and line, if it is not a log.
UpdateLog read_update_log(const std::filesystem::path& file_or_folder);
/// The same from a stream, which errors call `name`.
UpdateLog read_update_log(std::istream& stream, const std::string& name);

/// Writes a log line by line, each into the file at once.
class UpdateLogWriter {
 public:
  /// Replaces the file by one with the updates `before`. Throws std::system_error.
  UpdateLogWriter(std::filesystem::path file, std::span<const UpdateRecord> before);
  ~UpdateLogWriter();
  UpdateLogWriter(const UpdateLogWriter&) = delete;
  UpdateLogWriter& operator=(const UpdateLogWriter&) = delete;

  void append(const UpdateRecord& record);
  void end();

 private:
  void write(const std::string& line);

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
