// The text of CASToR's headers (.cdh, .hscan, .geom): `keyword: value` a line, and # begins a comment
// (CASToR general documentation, sections on input data files and on scanners).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream::castor {

struct TextEntry {
  std::string key, value;  // without blanks at their ends
  int line = 0;            // from 1
};

class TextHeader {
 public:
  /// `file` is what messages call it. Throws std::runtime_error "file:line: what, and what to do" for a line that is no
  /// `keyword: value`, and for more than 1 MiB.
  static TextHeader parse(std::string_view text, std::string file);
  /// The same of a file. Throws std::runtime_error for one that cannot be read, too.
  static TextHeader read(const std::filesystem::path& file);

  /// The first line whose keyword is one of these spellings; null where there is none. Keywords are case-sensitive.
  const TextEntry* find(std::initializer_list<std::string_view> spellings) const;
  /// The same; throws as refuse() does where there is none.
  const TextEntry& require(std::initializer_list<std::string_view> spellings) const;

  /// The value as one finite number, a whole number in [lo, hi], or a flag (0 or 1). They throw as refuse() does.
  double number(const TextEntry& entry) const;
  std::uint64_t whole(const TextEntry& entry, std::uint64_t lo, std::uint64_t hi) const;
  bool flag(const TextEntry& entry) const;
  /// `count` finite numbers, separated by commas.
  std::vector<double> numbers(const TextEntry& entry, std::size_t count) const;

  /// The same of a line that may be missing.
  double number_or(std::initializer_list<std::string_view> spellings, double otherwise) const;
  bool flag_or(std::initializer_list<std::string_view> spellings, bool otherwise) const;
  std::vector<double> numbers_or(std::initializer_list<std::string_view> spellings, std::size_t count,
                                 double otherwise) const;

  /// The lines that nobody has looked for, in order.
  std::vector<const TextEntry*> unread() const;
  const std::string& file() const { return file_; }

  /// Throws std::runtime_error "file:line: message"; without an entry "file: message".
  [[noreturn]] void refuse(const TextEntry* entry, const std::string& message) const;

 private:
  std::string file_;
  std::vector<TextEntry> entries_;
  mutable std::vector<bool> was_read_;
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
