// The text of an Interfile 3.3 header, `key := value` a line, in the dialects of the programs that write it. What the
// keys mean is for others to say: projection_header.hpp, image_file.hpp and gadgets/spect/io/interfile_study.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream::formats {

/// The largest header that is read, in bytes.
inline constexpr std::size_t largest_interfile_header = std::size_t{1} << 20;

/// One line. Programs hide keys of their own in comments, which are entries too.
struct InterfileEntry {
  std::string key;           // as it was written, without a leading `!` and without [n]
  std::optional<int> index;  // the n of `key [n]`
  std::string value;         // without blanks at its ends
  int line = 0;              // from 1
  bool is_comment = false;   // its line began with a `;`
  std::string folded = {};   // the key as it is compared
};

class InterfileHeader {
 public:
  InterfileHeader(std::string file, std::vector<InterfileEntry> entries)
      : file_(std::move(file)), entries_(std::move(entries)) {}

  const std::string& file() const { return file_; }
  const std::vector<InterfileEntry>& entries() const { return entries_; }

  /// Keys are the same where they differ in case, blanks and a leading `!` only. Comments are not searched.
  /// All lines of a key, in order: sections are repeated for each head and window.
  std::vector<const InterfileEntry*> all(std::string_view key) const;
  /// The first line of a key; null where there is none.
  const InterfileEntry* find(std::string_view key) const;
  /// The same with an index; index 1 also finds the key without one.
  const InterfileEntry* find(std::string_view key, int index) const;
  /// The first comment that is a line of this key; null where there is none.
  const InterfileEntry* comment(std::string_view key) const;
  /// All comments that are a line of this key, in order.
  std::vector<const InterfileEntry*> comments(std::string_view key) const;

  /// The value as one finite number, as a whole number in [lo, hi], or as a list of finite numbers, with or without
  /// braces. They throw as refuse() does.
  double number(const InterfileEntry& entry) const;
  std::int64_t whole(const InterfileEntry& entry, std::int64_t lo, std::int64_t hi) const;
  std::vector<double> numbers(const InterfileEntry& entry) const;

  /// Throws std::runtime_error "file:line: message"; without an entry "file: message".
  [[noreturn]] void refuse(const InterfileEntry* entry, const std::string& message) const;

 private:
  std::string file_;
  std::vector<InterfileEntry> entries_;
};

/// Reads the text up to `!END OF INTERFILE` or its end; `file` is what messages call it. Throws std::runtime_error of
/// one line, "file:line: what, and what to do": no Interfile at all, a line that is no `key := value`, an index that is
/// no number, a list without an end, a header of more than 1 MiB.
InterfileHeader parse_interfile(std::string_view text, const std::string& file);

/// The first bytes of a file, no more than a header may have: data may follow in it. Throws std::runtime_error where it
/// cannot be read.
std::string interfile_text(const std::filesystem::path& file);
/// parse_interfile of them.
InterfileHeader read_interfile(const std::filesystem::path& file);

/// Whether a file that begins so is an Interfile header.
bool is_interfile(std::string_view start);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
