// Lines of Interfile headers: see header.hpp.
#include "gadgets/io/interfile/header.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::formats {
namespace {

constexpr int largest_interfile_index = 100'000;

bool is_interfile_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\0';
}

std::string_view without_blanks_around(std::string_view text) {
  while (!text.empty() && is_interfile_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_interfile_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string interfile_folded(std::string_view key) {
  std::string folded;
  for (const char c : key)
    if (!is_interfile_blank(c) && c != '!') folded += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

// What a message quotes of a file's text.
std::string quoted_text(std::string_view text) {
  constexpr std::size_t most = 60;
  return fmt::format("'{}{}'", printable(text.substr(0, most)), text.size() > most ? "..." : "");
}

std::optional<double> interfile_number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

/// Takes the text of a header line by line.
class InterfileLines {
 public:
  explicit InterfileLines(std::string_view text) : text_(text) {}

  std::optional<std::string_view> next() {
    if (text_.empty()) return {};
    const std::size_t end = std::min(text_.find_first_of("\r\n"), text_.size());
    const std::string_view line = text_.substr(0, end);
    const bool is_pair = text_.substr(end).starts_with("\r\n");
    text_.remove_prefix(std::min(end + (is_pair ? 2 : 1), text_.size()));
    ++number_;
    return line;
  }
  int number() const { return number_; }

 private:
  std::string_view text_;
  int number_ = 0;
};

[[noreturn]] void refuse_interfile_line(const std::string& file, int line, const std::string& message) {
  throw std::runtime_error(fmt::format("{}:{}: {}", printable(file), line, message));
}

// Where `:=` is, or `: =`, as some programs write it; npos where it is not.
std::pair<std::size_t, std::size_t> assignment_in(std::string_view line) {
  for (std::size_t at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1)) {
    std::size_t end = at + 1;
    while (end < line.size() && line[end] == ' ') ++end;
    if (end < line.size() && line[end] == '=') return {at, end + 1};
  }
  return {std::string_view::npos, 0};
}

// A key without its [n], which goes to the entry.
void take_interfile_key(std::string_view key, const std::string& file, InterfileEntry& entry) {
  key = without_blanks_around(key);
  while (key.starts_with('!')) key = without_blanks_around(key.substr(1));
  if (key.ends_with(']')) {
    const std::size_t open = key.rfind('[');
    const std::string_view digits =
        without_blanks_around(open == std::string_view::npos ? "" : key.substr(open + 1, key.size() - open - 2));
    const auto index = interfile_number_of(digits);
    if (!index || *index != std::floor(*index) || *index < 0 || *index > largest_interfile_index)
      refuse_interfile_line(file, entry.line,
                            fmt::format("{} needs a whole number between its brackets", quoted_text(key)));
    entry.index = static_cast<int>(*index);
    key = without_blanks_around(key.substr(0, open));
  }
  entry.key = key;
  entry.folded = interfile_folded(key);
}

// A comment is an entry where it is a `key := value`; else it says nothing to a program.
std::optional<InterfileEntry> entry_of_comment(std::string_view line, int number) {
  while (!line.empty() && (is_interfile_blank(line.front()) || line.front() == ';' || line.front() == '#'))
    line.remove_prefix(1);
  const auto [at, after] = assignment_in(line);
  if (at == std::string_view::npos) return {};
  const std::string_view key = without_blanks_around(line.substr(0, at));
  return InterfileEntry{.key = std::string(key),
                        .index = {},
                        .value = std::string(without_blanks_around(line.substr(after))),
                        .line = number,
                        .is_comment = true,
                        .folded = interfile_folded(key)};
}

// The value after `:=`; a list in braces, and a line that ends with a backslash, go on in the next line.
std::string interfile_value(std::string_view start, InterfileLines& lines, const std::string& file) {
  const int first = lines.number();
  const auto without_comment = [](std::string_view text) {
    return without_blanks_around(text.substr(0, text.find(';')));
  };
  std::string value(without_comment(start));
  const auto goes_on = [&] {
    if (value.ends_with('\\')) {
      value.pop_back();
      return true;
    }
    return value.starts_with('{') && value.find('}') == std::string::npos;
  };
  while (goes_on()) {
    const auto line = lines.next();
    if (!line || assignment_in(*line).first != std::string_view::npos)
      refuse_interfile_line(file, first, "the list that begins here has no end: close it by '}'");
    value += ' ';
    value += without_comment(*line);
  }
  return value;
}

}  // namespace

std::vector<const InterfileEntry*> InterfileHeader::all(std::string_view key) const {
  const std::string wanted = interfile_folded(key);
  std::vector<const InterfileEntry*> found;
  for (const InterfileEntry& entry : entries_)
    if (!entry.is_comment && entry.folded == wanted) found.push_back(&entry);
  return found;
}

const InterfileEntry* InterfileHeader::find(std::string_view key) const {
  const auto found = all(key);
  return found.empty() ? nullptr : found.front();
}

const InterfileEntry* InterfileHeader::find(std::string_view key, int index) const {
  for (const InterfileEntry* entry : all(key))
    if (entry->index.value_or(1) == index) return entry;
  return nullptr;
}

const InterfileEntry* InterfileHeader::comment(std::string_view key) const {
  const auto found = comments(key);
  return found.empty() ? nullptr : found.front();
}

std::vector<const InterfileEntry*> InterfileHeader::comments(std::string_view key) const {
  const std::string wanted = interfile_folded(key);
  std::vector<const InterfileEntry*> found;
  for (const InterfileEntry& entry : entries_)
    if (entry.is_comment && entry.folded == wanted) found.push_back(&entry);
  return found;
}

void InterfileHeader::refuse(const InterfileEntry* entry, const std::string& message) const {
  if (entry) refuse_interfile_line(file_, entry->line, message);
  throw std::runtime_error(fmt::format("{}: {}", printable(file_), message));
}

double InterfileHeader::number(const InterfileEntry& entry) const {
  const auto value = interfile_number_of(entry.value);
  if (!value)
    refuse(&entry, fmt::format("'{}' must be a finite number, not {}", printable(entry.key), quoted_text(entry.value)));
  return *value;
}

std::int64_t InterfileHeader::whole(const InterfileEntry& entry, std::int64_t lo, std::int64_t hi) const {
  const double value = number(entry);
  if (value != std::floor(value) || value < static_cast<double>(lo) || value > static_cast<double>(hi))
    refuse(&entry, fmt::format("'{}' must be a whole number in [{}, {}], not {}", printable(entry.key), lo, hi,
                               quoted_text(entry.value)));
  return static_cast<std::int64_t>(value);
}

std::vector<double> InterfileHeader::numbers(const InterfileEntry& entry) const {
  std::string_view text = entry.value;
  if (text.starts_with('{')) {
    if (!text.ends_with('}')) refuse(&entry, "text follows the list's '}': remove it");
    text = text.substr(1, text.size() - 2);
  }
  std::vector<double> all;
  while (!(text = without_blanks_around(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(", \t"), text.size());
    const auto value = interfile_number_of(text.substr(0, end));
    if (!value)
      refuse(&entry, fmt::format("number {} of '{}' must be finite, not {}", all.size() + 1, printable(entry.key),
                                 quoted_text(text.substr(0, end))));
    all.push_back(*value);
    text = without_blanks_around(text.substr(end));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return all;
}

bool is_interfile(std::string_view start) {
  std::string_view line = without_blanks_around(start);
  line = line.substr(0, std::min(line.find_first_of("\r\n"), line.size()));
  return interfile_folded(line.substr(0, std::min(line.find(':'), line.size()))) == "interfile";
}

InterfileHeader parse_interfile(std::string_view text, const std::string& file) {
  if (!is_interfile(text))
    refuse_interfile_line(file, 1, "this is no Interfile header: its first line is '!INTERFILE :='");
  if (text.size() > largest_interfile_header)
    throw std::runtime_error(
        fmt::format("{}: a header of more than {} bytes: is it one?", printable(file), largest_interfile_header));
  std::vector<InterfileEntry> entries;
  InterfileLines lines(text);
  while (const auto line = lines.next()) {
    const std::string_view content = without_blanks_around(*line);
    if (content.empty()) continue;
    if (content.starts_with(';')) {
      if (auto comment = entry_of_comment(content, lines.number())) entries.push_back(std::move(*comment));
      continue;
    }
    const auto [at, after] = assignment_in(content);
    if (at == std::string_view::npos)
      refuse_interfile_line(file, lines.number(),
                            fmt::format("{} is no 'key := value': a comment begins with ';'", quoted_text(content)));
    InterfileEntry entry{.key = {}, .index = {}, .value = {}, .line = lines.number()};
    take_interfile_key(content.substr(0, at), file, entry);
    if (entry.folded == "endofinterfile") break;
    entry.value = interfile_value(content.substr(after), lines, file);
    entries.push_back(std::move(entry));
  }
  return {file, std::move(entries)};
}

std::string interfile_text(const std::filesystem::path& file) {
  require_readable(file);
  std::ifstream stream(file, std::ios::binary);
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(file, unknown);
  std::string text(unknown ? largest_interfile_header : std::min<std::uintmax_t>(size, largest_interfile_header), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return text;
}

InterfileHeader read_interfile(const std::filesystem::path& file) {
  return parse_interfile(interfile_text(file), file.string());
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
