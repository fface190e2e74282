// A configuration value and where it was written: the tree that a YAML document becomes before
// anyone interprets it. Scalars stay text, so that whoever knows the wanted type can name it, the
// value and the place in one message.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/did_you_mean.hpp"

namespace tofstream {

// A place in a file (1-based line and column), or a whole origin such as a `--set` option (line 0).
struct Location {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;

  // "file:line:column", "file" without a line, or "" for a default-constructed location.
  std::string text() const;
};

struct Value {
  enum class Kind { null, scalar, sequence, map };
  struct Entry;

  Kind kind = Kind::null;
  std::string text;     // of a scalar
  bool quoted = false;  // a quoted scalar is a string even if it reads like a number
  std::vector<Value> items;
  std::vector<Entry> entries;
  Location where;

  static Value scalar(std::string text, bool quoted = false);
  static Value sequence();
  static Value map();

  // The value of `key` in a map, or null if there is none.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);

  // Sets `key` of a map: in its place if it exists, else as the last entry.
  Value& set(std::string_view key, Value value, const Location& key_where = {});

  // What the value is, in words for an error message: "'12'", "a list", "a map", "nothing".
  std::string in_words() const;
};

struct Value::Entry {
  std::string key;
  Location where;
  Value value;
};

// Lays `over` on `base`: maps merge key by key, anything else of `over` replaces what `base` had.
Value merged(const Value& base, const Value& over);

// Sets the place of the value, and of all within it, to `where`.
void relocate(Value& value, const Location& where);

// One configuration error, "place: message" as a user reads it.
struct Problem {
  Location where;
  std::string message;

  std::string text() const;
};

// Collects every problem of a configuration so that all are reported at once. Identical ones are kept once, and at
// most the first `most` are kept, since nobody reads more.
class Problems {
 public:
  static constexpr std::size_t most = 1000;

  void add(const Location& where, std::string message);
  // As add; any other problem at this place follows from this one and is not reported.
  void add_root_cause(const Location& where, std::string message);
  bool empty() const { return problems_.empty(); }
  // Whether a further problem would be left out.
  bool full() const { return problems_.size() > most; }
  const std::vector<Problem>& all() const { return problems_; }

 private:
  std::vector<Problem> problems_;
  std::set<std::string, std::less<>> texts_;      // of problems_
  std::set<std::string, std::less<>> explained_;  // places whose root cause is known
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
