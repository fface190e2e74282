// A gadget's declared parameters (core/value/param_rules.hpp) at work: read from a configuration with every problem
// found, written with every default, and described for validation, `tofstream gadgets` and the JSON schema.
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/value/param_rules.hpp"
#include "core/value/reading.hpp"
#include "core/value/value.hpp"

namespace tofstream {

// The type of a parameter as a tree, for those who translate it (core/describe/schema.cpp).
struct TypeInfo {
  enum class Kind { boolean, integer, number, text, choice, list, map, anything };
  Kind kind = Kind::text;
  bool is_optional = false;                              // may be null
  double lo = -std::numeric_limits<double>::infinity();  // of an integer of at most 32 bits, or unsigned
  double hi = std::numeric_limits<double>::infinity();
  std::optional<std::size_t> size;  // of a list of fixed length
  std::vector<TypeInfo> element;    // of a list: one
  const char* default_word = "";    // of a map: the word that may stand for all its defaults
};

// One declared parameter with its types erased: what validation, documentation and the schema work
// with.
struct ParamInfo {
  ParamRules rules;
  std::string name;
  std::string type;  // in words: "number", "list of 3 x integer", "enum", "map"
  TypeInfo type_info;
  Value default_value;
  std::vector<ParamInfo> fields;  // of a nested struct
  std::vector<std::string> choices;
  void (*read)(void* object, const Reading&) = nullptr;
  Value (*write)(const void* object) = nullptr;
};

// Reads a map into the described object: unknown keys, missing required ones and every wrong value
// become problems.
void read_params(const std::vector<ParamInfo>& params, void* object, const Reading& map);

// The object's parameters as a map, every default spelled out.
Value write_params(const std::vector<ParamInfo>& params, const void* object);

// The same without what is declared not_in_key, at any depth: all that a result kept on disk depends on.
Value write_key_params(const std::vector<ParamInfo>& params, const void* object);

namespace detail {

template <class T>
concept Described = requires {
  T::params;
};
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T e) {
  enum_names(e);
};

template <class T>
concept HasDefaultWord = Described<T> && requires {
  T::default_word;
};

template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <auto Member>
struct MemberOf;
template <class C, class T, T C::*Member>
struct MemberOf<Member> {
  using Class = C;
  using Type = T;
};

std::string real_text(float);
std::string real_text(double);
std::vector<std::string> choice_list(const Choices&);

template <class T>
const std::vector<ParamInfo>& infos_of();

template <class E>
std::vector<std::string> enum_choices() {
  std::vector<std::string> all;
  for (const auto& [value, name] : enum_names(E{}).all) all.emplace_back(name);
  return all;
}

template <class T>
std::string type_words() {
  if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (std::is_integral_v<T>) {
    return "integer";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "number";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "string";
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return "path";
  } else if constexpr (std::is_same_v<T, Value>) {
    return "anything";
  } else if constexpr (NamedEnum<T>) {
    return "enum";
  } else if constexpr (IsArray<T>::value) {
    return "list of " + std::to_string(std::tuple_size_v<T>) + " x " + type_words<typename T::value_type>();
  } else if constexpr (IsVector<T>::value) {
    return "list of " + type_words<typename T::value_type>();
  } else if constexpr (IsOptional<T>::value) {
    return "optional " + type_words<typename T::value_type>();
  } else {
    static_assert(Described<T>,
                  "A parameter is a bool, a number, a string, a path, an enum with enum_names(), "
                  "an array, vector "
                  "or optional of these, a Value (anything), or a struct with its own `params`.");
    if constexpr (HasDefaultWord<T>) return std::string("map, or ") + T::default_word;
    return "map";
  }
}

template <class T>
TypeInfo type_info() {
  using Kind = TypeInfo::Kind;
  TypeInfo type;
  if constexpr (std::is_same_v<T, bool>) {
    type.kind = Kind::boolean;
  } else if constexpr (std::is_integral_v<T>) {
    type.kind = Kind::integer;
    if constexpr (std::is_unsigned_v<T> || sizeof(T) <= 4) type.lo = static_cast<double>(std::numeric_limits<T>::min());
    if constexpr (sizeof(T) <= 4) type.hi = static_cast<double>(std::numeric_limits<T>::max());
  } else if constexpr (std::is_floating_point_v<T>) {
    type.kind = Kind::number;
  } else if constexpr (std::is_same_v<T, Value>) {
    type.kind = Kind::anything;
  } else if constexpr (NamedEnum<T>) {
    type.kind = Kind::choice;
  } else if constexpr (IsArray<T>::value || IsVector<T>::value) {
    type.kind = Kind::list;
    if constexpr (IsArray<T>::value) type.size = std::tuple_size_v<T>;
    type.element.push_back(type_info<typename T::value_type>());
  } else if constexpr (IsOptional<T>::value) {
    type = type_info<typename T::value_type>();
    type.is_optional = true;
  } else if constexpr (Described<T>) {
    type.kind = Kind::map;
    if constexpr (HasDefaultWord<T>) type.default_word = T::default_word;
  }
  return type;
}

template <class T>
Value write_value(const T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    return Value::scalar(x ? "true" : "false");
  } else if constexpr (std::is_integral_v<T>) {
    return Value::scalar(std::to_string(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    return Value::scalar(real_text(x));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Value::scalar(x, true);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return Value::scalar(x.string(), true);
  } else if constexpr (std::is_same_v<T, Value>) {
    return x;
  } else if constexpr (NamedEnum<T>) {
    for (const auto& [value, name] : enum_names(T{}).all)
      if (x == value) return Value::scalar(name, true);
    return {};
  } else if constexpr (IsArray<T>::value || IsVector<T>::value) {
    Value list = Value::sequence();
    for (const typename T::value_type& element : x) list.items.push_back(write_value(element));
    return list;
  } else if constexpr (IsOptional<T>::value) {
    return x ? write_value(*x) : Value{};
  } else if constexpr (Described<T>) {
    if constexpr (HasDefaultWord<T>)
      if (x == T{}) return Value::scalar(T::default_word, true);
    return write_params(infos_of<T>(), &x);
  } else {
    return {};
  }
}

// The struct inside a parameter's type (through list and optional), whose fields documentation
// lists; else void.
template <class T>
struct StructOf {
  using Type = std::conditional_t<Described<T>, T, void>;
};
template <class T>
requires(IsArray<T>::value || IsVector<T>::value || IsOptional<T>::value) struct StructOf<T>
    : StructOf<typename T::value_type> {
};

template <class T>
struct EnumOf {
  using Type = std::conditional_t<NamedEnum<T>, T, void>;
};
template <class T>
requires(IsArray<T>::value || IsVector<T>::value || IsOptional<T>::value) struct EnumOf<T>
    : EnumOf<typename T::value_type> {
};

template <auto Member>
ParamInfo info_of(const ParamRules& rules, const typename MemberOf<Member>::Class& defaults) {
  using Class = typename MemberOf<Member>::Class;
  using Type = typename MemberOf<Member>::Type;
  ParamInfo info;
  info.rules = rules;
  info.name = rules.name;
  info.type = type_words<Type>() + (rules.is_one_for_all ? ", or one for all" : "");
  info.type_info = type_info<Type>();
  info.default_value = write_value(defaults.*Member);
  info.choices = choice_list(rules.choices);
  if constexpr (!std::is_void_v<typename EnumOf<Type>::Type>)
    info.choices = enum_choices<typename EnumOf<Type>::Type>();
  if constexpr (!std::is_void_v<typename StructOf<Type>::Type>) info.fields = infos_of<typename StructOf<Type>::Type>();
  info.read = [](void* object, const Reading& from) { read_value(from, static_cast<Class*>(object)->*Member); };
  info.write = [](const void* object) { return write_value(static_cast<const Class*>(object)->*Member); };
  return info;
}

template <class Object, auto... Members>
std::vector<ParamInfo> infos_from(const Description<Members...>& description) {
  const Object defaults{};
  return {info_of<Members>(std::get<Param<Members>>(description.params).rules, defaults)...};
}

template <class T>
const std::vector<ParamInfo>& infos_of() {
  static const std::vector<ParamInfo> infos = infos_from<T>(T::params);
  return infos;
}

}  // namespace detail

// read_value: one value into an object of a type that a parameter may have. After a problem the object keeps what it
// had; a list has defaults in the place of items that were wrong.

namespace detail {

template <class T, class Read>
void assign(T& out, std::optional<Read> read) {
  if (read) out = static_cast<T>(std::move(*read));
}

template <class List>
void read_items(const Reading& from, List& list) {
  for (std::size_t i = 0; i < from.value().items.size(); ++i) {
    typename List::value_type element{};  // not list[i]: a vector<bool> has no elements to refer to
    read_value(from.item(i), element);
    list[i] = std::move(element);
  }
}

}  // namespace detail

// Not a type that a parameter may have: type_words has said so, once.
template <class T>
void read_value(const Reading&, T&) {}

inline void read_value(const Reading& from, bool& out) {
  detail::assign(out, from.boolean());
}

template <std::signed_integral T>
void read_value(const Reading& from, T& out) {
  detail::assign(out, from.integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <std::unsigned_integral T>
void read_value(const Reading& from, T& out) {
  detail::assign(out, from.natural(std::numeric_limits<T>::max()));
}

template <std::floating_point T>
void read_value(const Reading& from, T& out) {
  detail::assign(out, from.real(static_cast<double>(std::numeric_limits<T>::max())));
}

inline void read_value(const Reading& from, std::string& out) {
  detail::assign(out, from.text(detail::choice_list(from.rules().choices)));
}

inline void read_value(const Reading& from, std::filesystem::path& out) {
  detail::assign(out, from.text(detail::choice_list(from.rules().choices)));
}

inline void read_value(const Reading& from, Value& out) {
  out = from.value();
}

template <detail::NamedEnum E>
void read_value(const Reading& from, E& out) {
  const std::optional<std::string> text = from.text(detail::enum_choices<E>());
  for (const auto& [value, name] : enum_names(E{}).all)
    if (text == name) out = value;
}

template <class T, std::size_t N>
void read_value(const Reading& from, std::array<T, N>& out) {
  std::array<T, N> list{};
  if (from.rules().is_one_for_all && from.value().kind == Value::Kind::scalar) {
    T element{};
    read_value(from, element);
    list.fill(element);
  } else if (from.is_list(N, detail::type_words<T>())) {
    detail::read_items(from, list);
  } else {
    return;
  }
  out = std::move(list);
}

template <class T>
void read_value(const Reading& from, std::vector<T>& out) {
  if (!from.is_list(std::nullopt, detail::type_words<T>())) return;
  std::vector<T> list(from.value().items.size());
  detail::read_items(from, list);
  out = std::move(list);
}

template <class T>
void read_value(const Reading& from, std::optional<T>& out) {
  out.reset();
  if (from.value().kind == Value::Kind::null) return;
  T value{};
  read_value(from, value);
  out = std::move(value);
}

template <detail::Described T>
void read_value(const Reading& from, T& out) {
  if constexpr (detail::HasDefaultWord<T>) {
    if (from.value().kind == Value::Kind::scalar) {
      if (from.is_default_word(T::default_word)) out = T{};
      return;
    }
  }
  read_params(detail::infos_of<T>(), &out, from);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
