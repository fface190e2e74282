// Values of run.json as text, for report.html.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/grouped.hpp"
#include "tools/watch/html.hpp"

namespace tofstream::report {

using Json = nlohmann::ordered_json;

/// A value at a path of keys, or null.
inline const Json& at(const Json& json, std::initializer_list<const char*> keys) {
  static const Json none;
  const Json* here = &json;
  for (const char* key : keys) {
    const auto found = here->is_object() ? here->find(key) : here->end();
    if (found == here->end()) return none;
    here = &*found;
  }
  return *here;
}

/// "1,234,567", "0.0125", "text"; "-" of null.
inline std::string words(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return grouped(value.get<std::uint64_t>());
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump();
}

/// Empty where it is no text.
inline std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// Three decimals.
inline std::string fixed(const Json& value) {
  return value.is_number() ? fmt::format("{:.3f}", value.get<double>()) : words(value);
}

/// The list's values with text between them; empty where there are none.
inline std::string listed(const Json& values, std::string_view between) {
  std::string text;
  for (const Json& value : values) {
    if (!text.empty()) text += between;
    text += value.is_number() ? fmt::format("{:g}", value.get<double>()) : words(value);
  }
  return text;
}

inline std::string section(std::string_view title, const std::string& content) {
  if (content.empty()) return {};
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", html::escape(title), content);
}

}  // namespace tofstream::report
// SPDX-License-Identifier: Apache-2.0
