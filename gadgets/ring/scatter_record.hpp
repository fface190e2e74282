// What single_scatter knows after each update, in a file beside the checkpoint: the events beside the body that it took
// note of, and the estimates that it made. A run that was killed goes on with what it knew at its checkpoint's update. The
// format is our own and no exchange format; share/doc/live.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/ring/correct/scatter.hpp"
#include "kernels/ring/scatter/scatter_tails.hpp"

namespace tofstream {

/// What was known after an update.
struct RecordedScatter {
  bool has_tails = false;
  ScatterTails::Noted tails;                  // without the scanner
  std::shared_ptr<ScatterEstimate> estimate;  // as it was given to the events, bit for bit; null: none yet
  int iteration = 0;                          // that it was made for
  double reference_s = 1;
};

class ScatterRecord {
 public:
  /// The record of a run that begins.
  explicit ScatterRecord(std::filesystem::path file) : file_(std::move(file)) {}
  /// The record of a run that goes on after an update of another one, whose record, at `from`, may be the same file.
  /// Throws std::runtime_error for a damaged record.
  static ScatterRecord going_on(std::filesystem::path file, const std::filesystem::path& from, std::int64_t update);
  /// What a record says of everything up to an update. Throws std::runtime_error where it is damaged before that.
  static RecordedScatter read(const std::filesystem::path& file, std::int64_t update);

  // Each throws std::system_error where it cannot be written; complete on return, whatever becomes of the process.

  /// The file, which was not touched before.
  void begin();
  /// What came with an update: the events that are noted beyond the first `seen_before` that were seen.
  void noted(std::int64_t update, const ScatterTails::Noted& tails, std::uint64_t seen_before);
  void made(std::int64_t update, const ScatterEstimate& estimate, int iteration, double reference_s);
  /// The estimate does not hold from this update on.
  void begun_anew(std::int64_t update);

  const std::filesystem::path& file() const { return file_; }

 private:
  enum class Kind : std::uint32_t { noted = 1, made = 2, begun_anew = 3 };
  struct Entry;
  static std::vector<Entry> entries_until(std::span<const std::byte> bytes, const std::filesystem::path& file,
                                          std::int64_t update);
  void append(Kind kind, std::int64_t update, std::span<const std::byte> head, std::span<const std::byte> values);

  std::filesystem::path file_;
  std::vector<std::byte> before_;  // with which it begins
  std::ofstream stream_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
