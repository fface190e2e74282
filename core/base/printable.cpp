#include "core/base/printable.hpp"

#include <algorithm>
#include <cstdint>

namespace tofstream {
namespace {

// The character of one UTF-8 sequence and its length in bytes; length 0 where it is none.
struct Character {
  char32_t code = 0;
  std::size_t length = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead >= 0xf5 || text.size() < length) return {};
  char32_t code = lead & (0xffU >> (length + 1));
  for (std::size_t n = 1; n < length; ++n) {
    if ((byte(n) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(n) & 0x3fU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[length] || is_surrogate || code > 0x10ffff) return {};
  return {code, length};
}

struct Range {
  char32_t first, last;
};

// Unicode's control characters (Cc), and those of its format characters (Cf, Zl, Zp) that change the order of what is
// shown, break lines or cannot be seen.
constexpr Range refused[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x061c, 0x061c}, {0x180e, 0x180e},   {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

bool is_refused(char32_t code) {
  for (const Range& range : refused)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

std::string escape(char32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      if (code < 0x80) return fmt::format("\\x{:02x}", static_cast<std::uint32_t>(code));
      if (code < 0x10000) return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
      return fmt::format("\\U{:08x}", static_cast<std::uint32_t>(code));
  }
}

std::string made_printable(std::string_view text, bool keeps_lines) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    if (length == 0)
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else if (is_refused(code) && !(keeps_lines && code == '\n'))
      safe += escape(code);
    else
      safe += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return safe;
}

}  // namespace

std::string printable(std::string_view text) {
  return made_printable(text, false);
}

std::string printable_lines(std::string_view text) {
  return made_printable(text, true);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
