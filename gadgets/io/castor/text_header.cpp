// The text of CASToR's headers: see text_header.hpp.
#include "gadgets/io/castor/text_header.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/printable.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::castor {
namespace {

constexpr std::size_t largest_text_header = std::size_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// CASToR's own files have numbers such as `20.` and `72.5.`: a point may end them.
bool read_number(std::string_view text, double& value) {
  text = trimmed(text);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  return error == std::errc{} && std::isfinite(value) && (rest.empty() || rest == ".");
}

}  // namespace

TextHeader TextHeader::parse(std::string_view text, std::string file) {
  TextHeader header;
  header.file_ = std::move(file);
  if (text.size() > largest_text_header) header.refuse(nullptr, "more than 1 MiB: this is no header of CASToR's");
  int number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end).substr(0, text.substr(0, end).find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    const auto colon = line.find(':');
    const TextEntry entry{.key = std::string(trimmed(line.substr(0, std::min(colon, line.size())))),
                          .value = colon == std::string_view::npos ? "" : std::string(trimmed(line.substr(colon + 1))),
                          .line = number};
    if (colon == std::string_view::npos)
      header.refuse(&entry, fmt::format("'{}' is no `keyword: value`: put # before a comment", printable(entry.key)));
    header.entries_.push_back(entry);
  }
  header.was_read_.resize(header.entries_.size());
  return header;
}

TextHeader TextHeader::read(const std::filesystem::path& file) {
  require_readable(file);
  std::ifstream from(file, std::ios::binary);
  std::string text(largest_text_header + 1, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!from.eof() && !from) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
  text.resize(static_cast<std::size_t>(from.gcount()));
  return parse(text, file.string());
}

const TextEntry* TextHeader::find(std::initializer_list<std::string_view> spellings) const {
  const auto found = std::ranges::find_if(entries_, [&](const TextEntry& entry) {
    return std::ranges::find(spellings, std::string_view(entry.key)) != spellings.end();
  });
  if (found == entries_.end()) return nullptr;
  was_read_[static_cast<std::size_t>(found - entries_.begin())] = true;
  return &*found;
}

const TextEntry& TextHeader::require(std::initializer_list<std::string_view> spellings) const {
  const TextEntry* entry = find(spellings);
  if (!entry) refuse(nullptr, fmt::format("has no line '{}: ...', which CASToR requires", *spellings.begin()));
  return *entry;
}

double TextHeader::number(const TextEntry& entry) const {
  double value = 0;
  if (!read_number(entry.value, value))
    refuse(&entry, fmt::format("{} is '{}', which is no number", entry.key, printable(entry.value)));
  return value;
}

std::uint64_t TextHeader::whole(const TextEntry& entry, std::uint64_t lo, std::uint64_t hi) const {
  std::uint64_t value = 0;
  const char* const end = entry.value.data() + entry.value.size();
  const auto [stop, error] = std::from_chars(entry.value.data(), end, value);
  if (error != std::errc{} || stop != end || value < lo || value > hi)
    refuse(&entry,
           fmt::format("{} is '{}': it is a whole number from {} to {}", entry.key, printable(entry.value), lo, hi));
  return value;
}

bool TextHeader::flag(const TextEntry& entry) const {
  return whole(entry, 0, 1) == 1;
}

std::vector<double> TextHeader::numbers(const TextEntry& entry, std::size_t count) const {
  std::vector<double> values;
  for (std::string_view rest = entry.value; values.size() <= count;) {
    const auto comma = rest.find(',');
    if (!read_number(rest.substr(0, comma), values.emplace_back()))
      refuse(&entry, fmt::format("{} is '{}', which is no number, nor numbers with commas between them", entry.key,
                                 printable(entry.value)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (values.size() != count)
    refuse(&entry, fmt::format("{} is '{}': {} values are needed, with commas between them", entry.key,
                               printable(entry.value), count));
  return values;
}

double TextHeader::number_or(std::initializer_list<std::string_view> spellings, double otherwise) const {
  const TextEntry* entry = find(spellings);
  return entry ? number(*entry) : otherwise;
}

bool TextHeader::flag_or(std::initializer_list<std::string_view> spellings, bool otherwise) const {
  const TextEntry* entry = find(spellings);
  return entry ? flag(*entry) : otherwise;
}

std::vector<double> TextHeader::numbers_or(std::initializer_list<std::string_view> spellings, std::size_t count,
                                           double otherwise) const {
  const TextEntry* entry = find(spellings);
  return entry ? numbers(*entry, count) : std::vector<double>(count, otherwise);
}

std::vector<const TextEntry*> TextHeader::unread() const {
  std::vector<const TextEntry*> result;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!was_read_[i]) result.push_back(&entries_[i]);
  return result;
}

void TextHeader::refuse(const TextEntry* entry, const std::string& message) const {
  throw std::runtime_error(entry ? fmt::format("{}:{}: {}", file_, entry->line, message)
                                 : fmt::format("{}: {}", file_, message));
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
