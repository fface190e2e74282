// See html.hpp.
#include "tools/watch/html.hpp"

#include <fmt/format.h>
#include <sodium.h>

namespace tofstream::html {

std::string escape(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  return safe;
}

std::string facts(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text;
  for (const auto& [name, value] : rows)
    if (!value.empty())
      text += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(name), escape(value));
  return text.empty() ? text : "<table class=\"facts\">\n" + text + "</table>\n";
}

// In a box of its own, which scrolls where the page is narrow.
std::string table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows,
                  bool numbers) {
  if (rows.empty()) return {};
  std::string text =
      fmt::format("<div class=\"scroll\" tabindex=\"0\">\n<table{}>\n<tr>", numbers ? " class=\"numbers\"" : "");
  for (const std::string& head : heads) text += fmt::format("<th scope=\"col\">{}</th>", escape(head));
  text += "</tr>\n";
  for (const auto& row : rows) {
    text += "<tr>";
    for (const std::string& cell : row) text += fmt::format("<td>{}</td>", escape(cell));
    text += "</tr>\n";
  }
  return text + "</table>\n</div>\n";
}

std::string image(std::string_view mime, std::string_view bytes, std::string_view words) {
  constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
  std::string base64(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  sodium_bin2base64(base64.data(), base64.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    variant);
  base64.pop_back();  // the end of a C string
  return fmt::format("<img alt=\"{}\" src=\"data:{};base64,{}\">\n", escape(words), mime, base64);
}

}  // namespace tofstream::html
// SPDX-License-Identifier: Apache-2.0
