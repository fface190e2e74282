#include "core/value/value.hpp"

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"

namespace tofstream {

std::string Location::text() const {
  if (!file) return "";
  if (line == 0) return *file;
  return *file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Value Value::scalar(std::string text, bool quoted) {
  Value v;
  v.kind = Kind::scalar;
  v.text = std::move(text);
  v.quoted = quoted;
  return v;
}

Value Value::sequence() {
  Value v;
  v.kind = Kind::sequence;
  return v;
}

Value Value::map() {
  Value v;
  v.kind = Kind::map;
  return v;
}

const Value* Value::find(std::string_view key) const {
  const auto it = std::ranges::find(entries, key, &Entry::key);
  return it == entries.end() ? nullptr : &it->value;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::set(std::string_view key, Value value, const Location& key_where) {
  const auto it = std::ranges::find(entries, key, &Entry::key);
  if (it == entries.end()) return entries.emplace_back(Entry{std::string(key), key_where, std::move(value)}).value;
  it->where = key_where;
  it->value = std::move(value);
  return it->value;
}

std::string Value::in_words() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return "'" + text + "'";
    case Kind::sequence:
      return "a list of " + std::to_string(items.size());
    case Kind::map:
      return "a map";
  }
  return "";
}

Value merged(const Value& base, const Value& over) {
  if (base.kind != Value::Kind::map || over.kind != Value::Kind::map) return over;
  Value result = base;
  result.where = over.where;
  for (const Value::Entry& entry : over.entries) {
    const Value* below = base.find(entry.key);
    result.set(entry.key, below ? merged(*below, entry.value) : entry.value, entry.where);
  }
  return result;
}

void relocate(Value& value, const Location& where) {
  value.where = where;
  for (Value& item : value.items) relocate(item, where);
  for (Value::Entry& entry : value.entries) {
    entry.where = where;
    relocate(entry.value, where);
  }
}

std::string Problem::text() const {
  const std::string place = where.text();
  return printable(place.empty() ? message : place + ": " + message);
}

void Problems::add(const Location& where, std::string message) {
  if (full() || explained_.contains(where.text())) return;
  Problem problem{where, std::move(message)};
  if (problems_.size() == most) problem = {{}, "more than " + std::to_string(most) + " problems: these are the first"};
  if (texts_.insert(problem.text()).second) problems_.push_back(std::move(problem));
}

void Problems::add_root_cause(const Location& where, std::string message) {
  add(where, std::move(message));
  explained_.insert(where.text());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
