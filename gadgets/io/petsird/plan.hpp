// How to read a type of the embedded schema into one of our structs: a small program made once for
// each stream, by matching the schema's fields to members.hpp. What we have no member for is
// skipped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/members.hpp"
#include "gadgets/io/petsird/schema.hpp"

namespace tofstream::petsird {

struct Plan;

/// Reads one part: `place` finds (or makes) its destination in that of the whole; null: nothing is
/// kept.
struct Step {
  std::string name;
  const Plan* plan = nullptr;
  void* (*place)(void* whole) = nullptr;
};

/// One instruction for plan_reader.hpp. Destinations are untyped; Planner alone makes them fit.
struct Plan {
  enum class Op {
    skip_bytes,    ///< `size` raw bytes
    skip_varints,  ///< `size` varints
    raw,           ///< `size` raw bytes into the destination
    integer,       ///< by `store`
    symbol,        ///< an enumeration's value, translated, by `store`
    real,          ///< a float64, by `store_real`
    text,          ///< into a std::string
    floats,        ///< counted float32, appended to a std::vector<float>
    record,        ///< `steps` in order
    list,          ///< as many of steps[0] as counted; each one's place is made by `add`
    stream,        ///< lists of steps[0] until an empty one
    optional,      ///< one byte, then perhaps steps[0]
    choice,        ///< an index, then that step
    events         ///< a list of coincidence events, read by the owner of the reader
  };
  Op op = Op::record;
  Encoding encoding = Encoding::byte;
  unsigned bits = 8;
  std::uint64_t size = 0;
  std::uint64_t length = 1;  ///< list: items for each count; a list of fixed length has rank 0
  unsigned rank = 1;         ///< list: counts written before the items
  std::vector<Step> steps;
  void* (*add)(void* list, std::uint64_t column) = nullptr;
  std::vector<float>& (*row)(void* list, std::uint64_t column) = nullptr;  ///< float32s by rows: the one of a column
  void (*store)(void* place, std::int64_t value) = nullptr;
  void (*store_real)(void* place, double value) = nullptr;
  std::vector<std::pair<std::int64_t, std::int64_t>> symbols;  ///< in the stream, ours
  EventKind event_kind = EventKind::prompt;
  std::uint64_t* tally = nullptr;    ///< list: the items counted are added here
  std::function<void(void*)> after;  ///< called with the destination once all is read
};

/// Makes plans; keeps them and what does not fit.
class Planner {
 public:
  /// The plan that reads `type` into a T. Misfits are added to problems(), each beginning with
  /// `path`.
  template <class T>
  const Plan& read(const Type& type, const std::string& path);
  /// The plan that reads past a value of `type`; one for each type.
  const Plan& skip(const Type& type);
  Plan& add(Plan plan) { return plans_.emplace_back(std::move(plan)); }

  std::vector<std::string>& problems() { return problems_; }

 private:
  template <class T>
  const Plan& integer(const Type& type, const std::string& path);
  template <class T>
  const Plan& symbol(const Type& type, const std::string& path);
  template <class T>
  const Plan& list(const Type& type, const std::string& path);
  template <class T>
  const Plan& record(const Type& type, const std::string& path);
  template <class T>
  const Plan& choice(const Type& type, const std::string& path);
  template <class Record, std::size_t... I>
  Step field(const Part& part, const std::string& path, std::index_sequence<I...>);
  template <class Record, std::size_t I>
  bool bind(Step& step, const Part& part, const std::string& path);
  const Plan& misfit(const Type& type, const std::string& path);

  std::deque<Plan> plans_;
  std::map<const Type*, const Plan*> skips_;
  std::vector<std::string> problems_;
};

namespace detail {

template <class T>
concept Described = requires {
  Members<T>::list;
};
template <class T>
concept Symbolic = requires {
  Symbols<T>::list;
};
template <class T>
concept Tagged = requires {
  Tags<T>::list;
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Numbers of float32 in a std::array, nested or not; 0 for anything else.
template <class T>
inline constexpr std::size_t floats_in = std::is_same_v<T, float> ? 1 : 0;
template <class T, std::size_t N>
inline constexpr std::size_t floats_in<std::array<T, N>> = N* floats_in<T>;

/// True if a value of the type is float32 and nothing else, so that its raw bytes are ours.
bool is_all_float32(const Type& type);

}  // namespace detail

template <class T>
const Plan& Planner::read(const Type& type, const std::string& path) {
  constexpr std::size_t floats = detail::floats_in<T>;
  if constexpr (detail::IsOptional<T>::value) {
    using Value = typename T::value_type;
    if (type.kind != Type::Kind::optional) return misfit(type, path);
    const auto make = [](void* place) -> void* { return &static_cast<T*>(place)->emplace(); };
    return add({.op = Plan::Op::optional, .steps = {{"", &read<Value>(type.item(), path), make}}});
  } else if constexpr (detail::IsVector<T>::value) {
    return list<T>(type, path);
  } else if constexpr (detail::Described<T>) {
    return record<T>(type, path);
  } else {
    if (type.kind == Type::Kind::record && type.parts.size() == 1) {
      return read<T>(type.item(), path + '.' + type.parts.front().name);
    }
    if constexpr (detail::Symbolic<T>) {
      return symbol<T>(type, path);
    } else if constexpr (detail::Tagged<T>) {
      return choice<T>(type, path);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (type.kind != Type::Kind::primitive || type.encoding != Encoding::text) {
        return misfit(type, path);
      }
      return add({.op = Plan::Op::text});
    } else if constexpr (floats > 0) {
      if (detail::is_all_float32(type) && type.fixed_bytes == floats * sizeof(float)) {
        return add({.op = Plan::Op::raw, .size = floats * sizeof(float)});
      }
      if constexpr (std::is_same_v<T, float>) {
        if (type.kind == Type::Kind::primitive && type.encoding == Encoding::float64) {
          return add({.op = Plan::Op::real, .store_real = [](void* place, double value) {
                        *static_cast<float*>(place) = static_cast<float>(value);
                      }});
        }
      }
      return misfit(type, path);
    } else {
      if (type.kind != Type::Kind::primitive || type.bits == 0) return misfit(type, path);
      return integer<T>(type, path);
    }
  }
}

template <class T>
const Plan& Planner::integer(const Type& type, const std::string& path) {
  static_assert(std::is_integral_v<T>);
  if (type.encoding != Encoding::byte && type.encoding != Encoding::varint && type.encoding != Encoding::zigzag) {
    return misfit(type, path);
  }
  // Modulo 2^width: what older files wrote as unsigned -1 is -1.
  return add({.op = Plan::Op::integer,
              .encoding = type.encoding,
              .bits = type.bits,
              .store = [](void* place, std::int64_t value) { *static_cast<T*>(place) = static_cast<T>(value); }});
}

template <class T>
const Plan& Planner::symbol(const Type& type, const std::string& path) {
  if (type.kind != Type::Kind::enumeration) return misfit(type, path);
  Plan plan{.op = Plan::Op::symbol,
            .encoding = type.encoding,
            .bits = type.bits,
            .store = [](void* place, std::int64_t value) { *static_cast<T*>(place) = static_cast<T>(value); }};
  for (const Symbol& symbol : type.symbols) {
    for (std::size_t i = 0; i < Symbols<T>::list.size(); ++i) {
      if (Symbols<T>::list[i] == symbol.name) {
        plan.symbols.emplace_back(symbol.value, static_cast<std::int64_t>(i));
      }
    }
  }
  return add(std::move(plan));
}

template <class T>
const Plan& Planner::list(const Type& type, const std::string& path) {
  using Item = typename T::value_type;
  const auto same = [](void* place) { return place; };
  if (type.kind == Type::Kind::optional) {  // absent: an empty list
    return add({.op = Plan::Op::optional, .steps = {{"", &list<T>(type.item(), path), same}}});
  }
  constexpr std::size_t floats = detail::floats_in<Item>;
  const bool is_one_item = floats > 1 && detail::is_all_float32(type) && type.fixed_bytes == floats * sizeof(float);
  if (type.kind == Type::Kind::record && type.parts.size() == 1 && !is_one_item) {
    return list<T>(type.item(), path + '.' + type.parts.front().name);
  }
  Plan plan{.op = Plan::Op::list};
  const auto append = [](void* place, std::uint64_t) -> void* { return &static_cast<T*>(place)->emplace_back(); };
  if (!is_one_item && (type.kind == Type::Kind::list || type.kind == Type::Kind::array)) {
    plan.rank = type.length ? 0 : type.kind == Type::Kind::array ? type.rank : 1;
    plan.length = type.length.value_or(1);
    const Type& item = type.item();
    if (item.fixed_bytes == 0U) return misfit(type, path);  // a count alone must not take memory
    const bool nested = item.kind == Type::Kind::list || item.kind == Type::Kind::array;
    if (type.kind == Type::Kind::array && type.rank == Type::any_rank && nested) {
      plan.rank = Type::any_rank;  // the standard's slip: an array of whole tables, one of them
      plan.add = [](void* place, std::uint64_t) { return place; };
      plan.steps = {{"", &read<T>(item, path), nullptr}};
      return add(std::move(plan));
    }
    if (type.kind == Type::Kind::array && type.rank == 2 && !type.length) {
      if constexpr (detail::IsVector<Item>::value) {
        plan.add = [](void* place, std::uint64_t column) -> void* {
          auto& rows = *static_cast<T*>(place);
          if (column == 0) rows.emplace_back();
          return &rows.back().emplace_back();
        };
        if constexpr (std::is_same_v<Item, std::vector<float>>) {
          if (detail::is_all_float32(item) && item.fixed_bytes == sizeof(float))
            plan.row = [](void* place, std::uint64_t column) -> std::vector<float>& {
              auto& rows = *static_cast<T*>(place);
              return column == 0 ? rows.emplace_back() : rows.back();
            };
        }
        plan.steps = {{"", &read<typename Item::value_type>(item, path + "[]"), nullptr}};
        return add(std::move(plan));
      }
      return misfit(type, path);
    }
    if constexpr (std::is_same_v<Item, float>) {
      if (plan.rank == 1 && detail::is_all_float32(item) && item.fixed_bytes == sizeof(float)) {
        return add({.op = Plan::Op::floats});
      }
    }
    plan.add = append;
    plan.steps = {{"", &read<Item>(item, path + "[]"), nullptr}};
  } else {  // one item where a later version has a list
    plan.rank = 0;
    plan.add = append;
    plan.steps = {{"", &read<Item>(type, path), nullptr}};
  }
  return add(std::move(plan));
}

template <class T>
const Plan& Planner::choice(const Type& type, const std::string& path) {
  if (type.kind != Type::Kind::choice) return misfit(type, path);
  Plan plan{.op = Plan::Op::choice};
  const auto bind_case = [&]<std::size_t I>(Step& step, const Part& part) {
    if (Tags<T>::list[I] != part.name) return false;
    step.plan = &read<std::variant_alternative_t<I, T>>(*part.type, path + '.' + part.name);
    step.place = [](void* place) -> void* { return &static_cast<T*>(place)->template emplace<I>(); };
    return true;
  };
  for (const Part& part : type.parts) {
    Step step{.name = part.name};
    const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (bind_case.template operator()<I>(step, part) || ...);
    }
    (std::make_index_sequence<std::variant_size_v<T>>());
    if (!known) step.plan = &skip(*part.type);
    plan.steps.push_back(step);
  }
  return add(std::move(plan));
}

template <class T>
const Plan& Planner::record(const Type& type, const std::string& path) {
  constexpr auto count = std::tuple_size_v<std::remove_cvref_t<decltype(Members<T>::list)>>;
  if (type.kind != Type::Kind::record) return misfit(type, path);
  Plan plan{.op = Plan::Op::record};
  for (const Part& part : type.parts) {
    plan.steps.push_back(field<T>(part, path, std::make_index_sequence<count>()));
  }
  const auto check = [&](const auto& member) {
    if constexpr (requires { member.needed; }) {
      const bool missing = std::none_of(type.parts.begin(), type.parts.end(), [&](const Part& part) {
        return part.name == member.name || part.name == member.old_name;
      });
      if (member.needed && missing) problems_.push_back(fmt::format("{}.{} is missing", path, member.name));
    }
  };
  std::apply([&](const auto&... member) { (check(member), ...); }, Members<T>::list);
  return add(std::move(plan));
}

template <class Record, std::size_t... I>
Step Planner::field(const Part& part, const std::string& path, std::index_sequence<I...>) {
  Step step{.name = part.name};
  const bool known = (bind<Record, I>(step, part, path + '.' + part.name) || ...);
  if (!known) step.plan = &skip(*part.type);
  return step;
}

template <class Record, std::size_t I>
bool Planner::bind(Step& step, const Part& part, const std::string& path) {
  constexpr auto member = std::get<I>(Members<Record>::list);
  if constexpr (requires { member.apply; }) {
    if (part.name != member.name || part.type->bits != 8) return false;
    step.place = [](void* record) { return record; };
    step.plan = &add({.op = Plan::Op::integer, .store = [](void* record, std::int64_t flag) {
                        std::get<I>(Members<Record>::list).apply(*static_cast<Record*>(record), flag != 0);
                      }});
  } else {
    using Value = std::remove_reference_t<decltype(std::declval<Record>().*member.value)>;
    if (part.name != member.name && part.name != member.old_name) return false;
    const std::size_t problems = problems_.size();
    step.plan = &read<Value>(*part.type, path);
    if (!member.needed && problems_.size() > problems) {  // of another shape, and we can do without
      problems_.resize(problems);
      return false;
    }
    step.place = [](void* record) -> void* {
      return &(static_cast<Record*>(record)->*std::get<I>(Members<Record>::list).value);
    };
  }
  return true;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
