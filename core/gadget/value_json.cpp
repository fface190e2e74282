#include "core/gadget/value_json.hpp"

#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
bool parse_whole(const std::string& text, T& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && stop == end;
}

Json scalar_json(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (std::int64_t x = 0; parse_whole(text, x)) return x;
  if (std::uint64_t x = 0; parse_whole(text, x)) return x;
  if (double x = 0; parse_whole(text, x) && std::isfinite(x)) return x;
  return text;
}

}  // namespace

Json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return nullptr;
    case Value::Kind::scalar:
      return value.quoted ? Json(value.text) : scalar_json(value.text);
    case Value::Kind::sequence: {
      Json list = Json::array();
      for (const Value& item : value.items) list.push_back(to_json(item));
      return list;
    }
    case Value::Kind::map: {
      Json map = Json::object();
      for (const Value::Entry& entry : value.entries) map[entry.key] = to_json(entry.value);
      return map;
    }
  }
  return nullptr;
}

Json to_json(const Figure& figure) {
  return std::visit([](const auto& x) { return Json(x); },
                    figure);  // nlohmann-json writes NaN as null
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
