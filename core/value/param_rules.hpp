// What an author declares about a parameter, said once beside the struct that holds it: name, limits, unit, choices,
// one line of documentation; and the names of an enumeration. core/value/params.hpp, which includes it, reads by it.
#pragma once
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace tofstream {

// Limits of a number (of each element, for lists); an open end excludes its bound.
struct Limits {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool open_lo = false;

  bool contain(double x) const { return (open_lo ? x > lo : x >= lo) && x <= hi; }
  bool any() const { return *this != Limits{}; }
  bool operator==(const Limits&) const = default;
};

// The limits as a sentence has them: "in [1, 64] mm", "greater than 0 mm", "at least 2", "at most 7".
std::string limits_in_words(const Limits& limits, const char* unit);

constexpr Limits range(double lo, double hi) {
  return {.lo = lo, .hi = hi};
}
constexpr Limits at_least(double lo) {
  return {.lo = lo};
}
inline constexpr Limits positive{.lo = 0, .open_lo = true};
inline constexpr Limits non_negative{.lo = 0};

// The physical unit, as text: unit("mm").
struct Unit {
  const char* text = "";
};
constexpr Unit unit(const char* text) {
  return {text};
}

// The only texts that a string parameter takes: one_of("nearest", "linear").
struct Choices {
  std::array<const char*, 16> names{};
  std::size_t count = 0;
};
template <class... Names>
constexpr Choices one_of(Names... names) {
  static_assert(sizeof...(Names) <= 16, "one_of takes at most 16 names: make the parameter an enum");
  return {{names...}, sizeof...(Names)};
}

// A list of fixed length may be written as one value, which stands for all of its elements.
struct OneForAll {};
inline constexpr OneForAll one_for_all{};

struct Live {};      // may change while the gadget runs, at a message boundary
struct Required {};  // has no default
inline constexpr Live live{};
inline constexpr Required required{};

// A text that names what the gadget reads when it is made: a file or folder; with reads_one_of("scanners") a scanner
// that comes with tofstream, or a file. `tofstream check` looks whether it is there.
struct Reads {
  const char* kind = "";
};
inline constexpr Reads reads_file{};
constexpr Reads reads_one_of(const char* kind) {
  return {kind};
}

// A text that names a file which the gadget writes into the run's own folder: a server lets clients choose it.
struct InRunFolder {};
inline constexpr InRunFolder in_run_folder{};

// A path that only the operator of a server may choose, not its clients, with the sentence that tells them so.
struct OperatorsAlone {
  const char* why = "";
};
constexpr OperatorsAlone operators_alone(const char* why) {
  return {why};
}

// A parameter that does not change what is computed ahead and kept on disk, such as a sensitivity image. All other
// parameters are part of the key under which that is kept.
struct NotInKey {};
inline constexpr NotInKey not_in_key{};

// What is declared about one parameter besides its member.
struct ParamRules {
  const char* name = "";
  const char* doc = "";
  const char* unit = "";
  Limits limits;
  Choices choices;
  bool is_live = false;
  bool is_required = false;
  bool is_one_for_all = false;
  bool is_in_run_folder = false;
  bool is_in_key = true;
  const char* reads = nullptr;            // the kind of Reads; null: it names nothing
  const char* operators_alone = nullptr;  // why, see OperatorsAlone; null: clients of a server may choose it

  constexpr void apply(Limits l) { limits = l; }
  constexpr void apply(Choices c) { choices = c; }
  constexpr void apply(Unit u) { unit = u.text; }
  constexpr void apply(Live) { is_live = true; }
  constexpr void apply(Required) { is_required = true; }
  constexpr void apply(OneForAll) { is_one_for_all = true; }
  constexpr void apply(Reads r) { reads = r.kind; }
  constexpr void apply(InRunFolder) { is_in_run_folder = true; }
  constexpr void apply(NotInKey) { is_in_key = false; }
  constexpr void apply(OperatorsAlone o) { operators_alone = o.why; }
  constexpr void apply(const char* text) { doc = text; }
};

template <auto Member>
struct Param {
  ParamRules rules;
};

template <auto... Members>
struct Description {
  std::tuple<Param<Members>...> params;
};

// Declares member `Member` as parameter `name`. The rest, in any order: limits (range, at_least,
// positive, ...), one_of, unit, one_for_all, reads_file, in_run_folder, operators_alone, not_in_key, live, required,
// and the line of documentation.
template <auto Member, class... Rest>
constexpr Param<Member> param(const char* name, Rest... rest) {
  Param<Member> p{};
  p.rules.name = name;
  (p.rules.apply(rest), ...);
  return p;
}

// The parameters of a struct: `static constexpr auto params = describe(param<&Params::x>("x", ...),
// ...);` If a word may stand for all defaults (`image: auto`), the struct has an == and
// `static constexpr auto default_word = "auto"`.
template <auto... Members>
constexpr Description<Members...> describe(Param<Members>... params) {
  return {{params...}};
}
// Those of a struct behind those of its base: `describe(param<&Params::own>(...)) + Base::params`.
template <auto... First, auto... Second>
constexpr Description<First..., Second...> operator+(const Description<First...>& first,
                                                     const Description<Second...>& second) {
  return {std::tuple_cat(first.params, second.params)};
}

// The names of an enumeration's values, given once where the enumeration is:
//   constexpr auto enum_names(Mode) { return names(Mode::fast, "fast", Mode::exact, "exact"); }
template <class E, std::size_t N>
struct EnumNames {
  std::array<std::pair<E, const char*>, N> all;
};
template <class E, class... Rest>
constexpr auto names(E first, const char* name, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return EnumNames<E, 1>{{std::pair{first, name}}};
  } else {
    constexpr std::size_t n = 1 + sizeof...(Rest) / 2;
    EnumNames<E, n> all{};
    all.all[0] = {first, name};
    const auto others = names(rest...);
    for (std::size_t i = 1; i < n; ++i) all.all[i] = others.all[i - 1];
    return all;
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
