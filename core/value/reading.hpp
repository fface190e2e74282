// One value of a configuration while it is read: what it is called, where its problems go and what was declared about
// it. Each function reads it as one kind of value, or adds a problem that says what it must be and gives nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/value/param_rules.hpp"
#include "core/value/value.hpp"

namespace tofstream {

class Reading {
 public:
  // `path` is the dotted name with which messages begin. All but the path outlive the reading.
  Reading(const Value& value, std::string path, Problems& problems, const ParamRules& rules = none_declared)
      : value_(&value), path_(std::move(path)), problems_(&problems), rules_(&rules) {}

  const Value& value() const { return *value_; }
  const std::string& path() const { return path_; }
  const ParamRules& rules() const { return *rules_; }
  Problems& problems() const { return *problems_; }
  // "PATH must be WANTED, not FOUND", at the place of the value.
  void must_be(std::string_view wanted, std::string_view found) const;

  // An item of a list: the same rules hold for it.
  Reading item(std::size_t index) const;

  std::optional<bool> boolean() const;
  // Numbers lie within the declared limits and within those given, which are the C++ type's. NaN and infinity are none.
  std::optional<std::int64_t> integer(std::int64_t lo, std::int64_t hi) const;
  std::optional<std::uint64_t> natural(std::uint64_t hi) const;
  std::optional<double> real(double largest) const;
  // One of the choices, where there are any.
  std::optional<std::string> text(const std::vector<std::string>& choices) const;
  // A list of `element`s (in words), of this size where one is given.
  bool is_list(std::optional<std::size_t> size, std::string_view element) const;
  // The word that stands for all defaults of a struct.
  bool is_default_word(std::string_view word) const;

 private:
  static constexpr ParamRules none_declared{};

  template <class T>
  std::optional<T> whole(T lo, T hi) const;
  bool is_within_limits(double x) const;

  const Value* value_;
  std::string path_;
  Problems* problems_;
  const ParamRules* rules_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
