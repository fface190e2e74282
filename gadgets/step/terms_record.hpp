// What an estimator of additive terms knows after each update, as entries of a file beside the checkpoint: a run that was
// killed goes on with what it knew at its checkpoint's update. The format is our own and no exchange format;
// share/doc/live.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

namespace tofstream {

/// `noted`: what came with an update; `made`: terms that hold from this update on; `begun_anew`: those so far do not hold
/// any more. Live streams have three more. `renewal`: when the next terms are due, and of what they are being made;
/// `all_noted`: all that came with this update is noted; `shortened`: what was made before an update is not there any more.
enum class TermsEntry : std::uint32_t {
  noted = 1,
  made = 2,
  begun_anew = 3,
  renewal = 4,
  all_noted = 5,
  shortened = 6
};

class TermsRecord {
 public:
  /// The record of a run that begins.
  explicit TermsRecord(std::filesystem::path file) : file_(std::move(file)) {}
  /// The record of a run that goes on after an update of another one, whose record, at `from`, may be the same file.
  /// Throws std::runtime_error for a damaged record.
  static TermsRecord going_on(std::filesystem::path file, const std::filesystem::path& from, std::int64_t update);

  struct Entry {
    TermsEntry kind;
    std::int64_t update;
    std::vector<std::byte> content;

    /// What the content begins with; nothing where it is shorter.
    template <class Head>
    std::optional<Head> head() const {
      if (content.size() < sizeof(Head)) return std::nullopt;
      Head made;
      std::memcpy(&made, content.data(), sizeof(Head));
      return made;
    }
    /// What follows the head; nothing where that are no whole values.
    template <class Value>
    std::optional<std::vector<Value>> values(std::size_t behind) const {
      if ((content.size() - behind) % sizeof(Value) != 0) return std::nullopt;
      std::vector<Value> made((content.size() - behind) / sizeof(Value));
      if (!made.empty()) std::memcpy(made.data(), content.data() + behind, content.size() - behind);
      return made;
    }
  };
  /// What a record says of everything up to an update; nothing where there is no file. Throws std::runtime_error where it is
  /// damaged before that.
  static std::vector<Entry> read(const std::filesystem::path& file, std::int64_t update);
  /// Says that the entries are not what was asked for.
  [[noreturn]] static void refuse(const std::filesystem::path& file);

  // Each throws std::system_error where it cannot be written; complete on return, whatever becomes of the process.

  /// Makes the file, which was not touched before; so does the first entry.
  void begin();
  void append(TermsEntry kind, std::int64_t update, std::span<const std::byte> head = {},
              std::span<const std::byte> values = {});

  /// Leaves out what was made, and when, before an update, which an entry at the beginning names; what was noted stays.
  void shorten(std::int64_t to_update);

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::vector<std::byte> before_;  // with which it begins
  std::ofstream stream_;
};

/// A value as it lies in memory.
template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
