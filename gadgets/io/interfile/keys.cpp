// Values of Interfile keys: see keys.hpp.
#include "gadgets/io/interfile/keys.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "core/base/printable.hpp"

namespace tofstream::interfile {

using formats::InterfileEntry;

std::string folded_word(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0 || c == '_' || c == '-'; });
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

const InterfileEntry* Keys::find(std::initializer_list<const char*> keys, int index) const {
  for (const char* key : keys) {
    const InterfileEntry* found = nullptr;
    for (const InterfileEntry* entry : header_.all(key))
      if (entry->index.value_or(1) == index && !entry->value.empty()) found = entry;
    if (found) return found;
  }
  return nullptr;
}

const InterfileEntry& Keys::need(std::initializer_list<const char*> keys, const char* why, int index) const {
  const InterfileEntry* entry = find(keys, index);
  if (!entry)
    header_.refuse(
        nullptr, fmt::format("it has no '{}{}': {}", *keys.begin(), index > 1 ? fmt::format(" [{}]", index) : "", why));
  return *entry;
}

int Keys::whole(const InterfileEntry& entry, int lo, int hi) const {
  return static_cast<int>(header_.whole(entry, lo, hi));
}

double Keys::number(const InterfileEntry& entry, double lo, double hi) const {
  const double value = header_.number(entry);
  if (!(value >= lo && value <= hi))
    header_.refuse(&entry, fmt::format("'{}' must be in [{:g}, {:g}], not {}", printable(entry.key), lo, hi,
                                       printable(entry.value)));
  return value;
}

std::vector<int> Keys::wholes(const InterfileEntry& entry, int lo, int hi) const {
  std::vector<int> result;
  for (const double value : header_.numbers(entry)) {
    if (value != std::floor(value) || value < lo || value > hi)
      header_.refuse(&entry, fmt::format("'{}' must have whole numbers in [{}, {}], not {:g}", printable(entry.key), lo,
                                         hi, value));
    result.push_back(static_cast<int>(value));
  }
  return result;
}

formats::RawPixels number_format(const Keys& keys) {
  using Kind = formats::RawPixels::Kind;
  formats::RawPixels numbers;
  const InterfileEntry& format = keys.need({"number format"}, "is it float, signed integer or unsigned integer?");
  const std::string word = folded_word(format.value);
  if (word == "float" || word == "shortfloat" || word == "longfloat")
    numbers.kind = Kind::real;
  else if (word == "signedinteger")
    numbers.kind = Kind::signed_integer;
  else if (word == "unsignedinteger")
    numbers.kind = Kind::unsigned_integer;
  else
    keys.header().refuse(&format, fmt::format("'number format' must be float, signed integer or unsigned integer, not "
                                              "{}",
                                              printable(format.value)));
  const InterfileEntry& bytes = keys.need({"number of bytes per pixel"}, "of how many bytes is a number?");
  numbers.bytes = keys.whole(bytes, 1, 8);
  if (!numbers.is_known())
    keys.header().refuse(&bytes, fmt::format("there are no numbers of {} bytes in the format {}", numbers.bytes,
                                             printable(format.value)));
  const InterfileEntry& order = keys.need({"imagedata byte order"}, "is it LITTLEENDIAN or BIGENDIAN?");
  const std::string endian = folded_word(order.value);
  if (endian != "littleendian" && endian != "bigendian")
    keys.header().refuse(&order, fmt::format("'imagedata byte order' must be LITTLEENDIAN or BIGENDIAN, not {}",
                                             printable(order.value)));
  numbers.is_big_endian = endian == "bigendian";
  return numbers;
}

std::optional<std::string> data_type_of(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return {};
  try {
    const std::string text = formats::interfile_text(file);
    if (!formats::is_interfile(text)) return {};
    const formats::InterfileHeader header = formats::parse_interfile(text, file.string());
    const InterfileEntry* type = header.find("PET data type");
    if (!type) return {};
    return folded_word(type->value);
  } catch (const std::runtime_error&) {
    return {};
  }
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
