#include "core/value/params.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/value/known_names.hpp"

namespace tofstream {
namespace {

std::string number_text(double x) {
  return fmt::format("{}", x);
}

}  // namespace

std::string limits_in_words(const Limits& limits, const char* unit) {
  const std::string tail = *unit ? std::string(" ") + unit : "";
  if (std::isfinite(limits.lo) && std::isfinite(limits.hi))
    return fmt::format("in {}{}, {}]{}", limits.open_lo ? '(' : '[', number_text(limits.lo), number_text(limits.hi),
                       tail);
  if (std::isfinite(limits.lo))
    return fmt::format("{} {}{}", limits.open_lo ? "greater than" : "at least", number_text(limits.lo), tail);
  return fmt::format("at most {}{}", number_text(limits.hi), tail);
}

namespace {

// Before anything else is said of the map, since a key that is misspelt is missing too.
void refuse_unknown_keys(const std::vector<ParamInfo>& params, const Reading& map) {
  std::vector<std::string> known;
  for (const ParamInfo& param : params) known.push_back(param.name);
  for (const Value::Entry& entry : map.value().entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    map.problems().add(entry.where, fmt::format("{}: unknown key '{}'{}", map.path(), entry.key,
                                                hint_or_names(entry.key, known, known)));
  }
}

void read_param(const ParamInfo& param, void* object, const Reading& map) {
  std::string name = map.path().empty() ? param.name : map.path() + "." + param.name;
  const Value* const value = map.value().find(param.name);
  if (!value) {
    if (param.rules.is_required)
      map.problems().add(map.value().where, fmt::format("{} is missing: {}", name, param.rules.doc));
  } else if (param.rules.is_required && value->kind == Value::Kind::scalar && value->text.empty()) {
    map.problems().add(value->where, fmt::format("{} is empty: {}", name, param.rules.doc));
  } else {
    param.read(object, {*value, std::move(name), map.problems(), param.rules});
  }
}

}  // namespace

void read_params(const std::vector<ParamInfo>& params, void* object, const Reading& map) {
  const Value::Kind kind = map.value().kind;
  if (kind != Value::Kind::map && kind != Value::Kind::null) return map.must_be("a map", map.value().in_words());
  refuse_unknown_keys(params, map);
  for (const ParamInfo& param : params) read_param(param, object, map);
}

Value write_params(const std::vector<ParamInfo>& params, const void* object) {
  Value map = Value::map();
  for (const ParamInfo& param : params) map.set(param.name, param.write(object));
  return map;
}

namespace {

void leave_key_params(const std::vector<ParamInfo>& params, Value& value) {
  for (Value& item : value.items) leave_key_params(params, item);
  for (const ParamInfo& param : params) {
    if (!param.rules.is_in_key)
      std::erase_if(value.entries, [&](const Value::Entry& entry) { return entry.key == param.name; });
    else if (Value* const nested = value.find(param.name))
      leave_key_params(param.fields, *nested);
  }
}

}  // namespace

Value write_key_params(const std::vector<ParamInfo>& params, const void* object) {
  Value all = write_params(params, object);
  leave_key_params(params, all);
  return all;
}

namespace detail {

std::string real_text(float x) {
  return fmt::format("{}", x);
}
std::string real_text(double x) {
  return fmt::format("{}", x);
}

std::vector<std::string> choice_list(const Choices& choices) {
  return {choices.names.begin(), choices.names.begin() + choices.count};
}

}  // namespace detail
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
