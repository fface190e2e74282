// The kinds of one sort of thing, such as kinds of scanners: a table that libraries and plug-ins add to when they are
// loaded, and that nothing lists. A sort has a header that declares its kind, and a source file that makes
// the table (kind_table-inl.hpp):
//
//     struct Kind {
//       static constexpr KindWords called = {"kind of scanner", "kinds of scanners", "key"};
//       const std::string& id() const;  // or a number: what the kind is found by
//       std::string problem() const;    // why it is no kind, in one line; empty where it is one
//     };
#pragma once
#include <cstdint>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/did_you_mean.hpp"
#include "core/gadget/registry.hpp"

namespace tofstream {

/// What messages call a sort of thing, one and several, and what they call an id.
struct KindWords {
  const char *one, *many, *id;
};

/// Not to be changed while other threads look kinds up.
template <class Kind>
class KindTable {
 public:
  /// Sorted by their ids. A kind stays in its place when others are added.
  auto begin() const { return kinds_.begin(); }
  auto end() const { return kinds_.end(); }

  /// The kind of this id; null where there is none.
  template <class Id>
  const Kind* find(const Id& id) const {
    const auto found = kinds_.find(id);
    return found == kinds_.end() ? nullptr : &*found;
  }
  /// The kind of this name. Throws std::invalid_argument, with the name that may be meant, where there is none.
  const Kind& at(std::string_view name) const {
    if (const Kind* kind = find(name)) return *kind;
    throw std::invalid_argument(
        sentence({"no ", Kind::called.one, " has the ", Kind::called.id, " '", name, "'", hint(name)}));
  }
  /// ", did you mean 'x'?" for the name nearest to this one; empty where none is near.
  std::string hint(std::string_view name) const {
    std::vector<std::string> names;
    for (const Kind& kind : kinds_) names.push_back(kind.id());
    return did_you_mean(name, names);
  }

  /// Why this kind may not be added, in one line; empty where it may.
  std::string problem_of(const Kind& kind) const {
    if (std::string problem = kind.problem(); !problem.empty()) return problem;
    if (!find(kind.id())) return "";
    return sentence({"two ", Kind::called.many, " have the ", Kind::called.id, " ", shown(kind.id())});
  }
  /// Adds a kind that has no problem.
  void add(Kind kind) { kinds_.insert(std::move(kind)); }

 private:
  struct ById {
    using is_transparent = void;
    static const auto& id(const Kind& kind) { return kind.id(); }
    template <class Id>
    static const Id& id(const Id& value) {
      return value;
    }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return id(a) < id(b);
    }
  };

  static std::string sentence(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
  }
  static std::string shown(const std::string& name) { return sentence({"'", name, "': rename one"}); }
  template <class Number>
  static std::string shown(Number number) {
    return std::to_string(static_cast<int>(number)) + ": number one anew";
  }

  std::set<Kind, ById> kinds_;
};

/// The table of a sort, which its source file makes.
template <class Kind>
KindTable<Kind>& table_of();

/// Adds a kind when the program or plug-in is loaded. Compiled with the table.
template <class Kind>
struct KindRegistration {
  explicit KindRegistration(const Kind& kind);
};

}  // namespace tofstream

// Registers a kind of this type when the library is loaded. At namespace scope.
#define TOFSTREAM_KIND(Kind, ...)                                                                                \
  namespace {                                                                                                    \
  const ::tofstream::KindRegistration<Kind> TOFSTREAM_UNIQUE_NAME(kind_registration_, __COUNTER__)(__VA_ARGS__); \
  }                                                                                                              \
  static_assert(true, "TOFSTREAM_KIND is followed by a semicolon")
// SPDX-License-Identifier: Apache-2.0
