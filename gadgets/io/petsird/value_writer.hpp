// Writes our structs in the encoding that a schema's types ask for: the counterpart of plan.hpp, by
// the same list of members.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/input.hpp"
#include "gadgets/io/petsird/members.hpp"
#include "gadgets/io/petsird/plan.hpp"
#include "gadgets/io/petsird/schema.hpp"

namespace tofstream::petsird {

/// Appends values to a buffer, which `drain` may empty from time to time.
class ValueWriter {
 public:
  using Drain = void (*)(void* context, std::vector<std::byte>& bytes);
  ValueWriter(std::vector<std::byte>& bytes, Drain drain, void* context)
      : bytes_(bytes), drain_(drain), context_(context) {}

  /// Writes a value as `type`. Throws Error, naming the field, if the type cannot hold it.
  template <class T>
  void write(const Type& type, const T& value);

 private:
  template <class T>
  void list(const Type& type, const std::vector<T>& values);
  template <class T>
  void record(const Type& type, const T& value);
  template <class T>
  void integer(const Type& type, T value);
  template <class T>
  void raw(const T& value);

  [[noreturn]] static void misfit(const Type& type) {
    throw Error(
        fmt::format("PETSIRD writer has no value of the shape of {}; the version cannot be written", type.name));
  }

  std::vector<std::byte>& bytes_;
  Drain drain_;
  void* context_;
};

template <class T>
void ValueWriter::write(const Type& type, const T& value) {
  if constexpr (detail::IsOptional<T>::value) {
    if (type.kind != Type::Kind::optional) misfit(type);
    bytes_.push_back(std::byte{value.has_value()});
    if (value) write(type.item(), *value);
  } else if constexpr (detail::Described<T>) {
    record(type, value);
  } else if (type.kind == Type::Kind::record && type.parts.size() == 1) {
    write(type.item(), value);
  } else if constexpr (detail::IsVector<T>::value) {
    list(type, value);
  } else if constexpr (detail::Symbolic<T>) {
    const std::string_view name = Symbols<T>::list[static_cast<std::size_t>(value)];
    const auto symbol =
        std::find_if(type.symbols.begin(), type.symbols.end(), [&](const Symbol& one) { return one.name == name; });
    if (symbol == type.symbols.end()) misfit(type);
    integer(type, symbol->value);
  } else if constexpr (detail::Tagged<T>) {
    const std::string_view tag = Tags<T>::list[value.index()];
    const auto part =
        std::find_if(type.parts.begin(), type.parts.end(), [&](const Part& one) { return one.name == tag; });
    if (type.kind != Type::Kind::choice || part == type.parts.end()) misfit(type);
    append_varint(bytes_, static_cast<std::uint64_t>(part - type.parts.begin()));
    std::visit([&](const auto& alternative) { write(*part->type, alternative); }, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (type.kind != Type::Kind::primitive || type.encoding != Encoding::text) misfit(type);
    append_varint(bytes_, value.size());
    const auto* text = reinterpret_cast<const std::byte*>(value.data());
    bytes_.insert(bytes_.end(), text, text + value.size());
  } else if constexpr (detail::floats_in<T> > 0) {
    if (!detail::is_all_float32(type) || type.fixed_bytes != sizeof(T)) misfit(type);
    raw(value);
  } else {
    if (type.kind != Type::Kind::primitive) misfit(type);
    integer(type, value);
  }
}

template <class T>
void ValueWriter::list(const Type& type, const std::vector<T>& values) {
  const bool whole = type.kind == Type::Kind::array && type.rank == Type::any_rank &&
                     (type.item().kind == Type::Kind::list || type.item().kind == Type::Kind::array);
  if (whole) {  // an array, without dimensions, of one table
    append_varint(bytes_, 0);
    write(type.item(), values);
    return;
  }
  const bool counted = type.kind == Type::Kind::list || (type.kind == Type::Kind::array && type.rank == 1);
  if (!counted || type.length) misfit(type);
  append_varint(bytes_, values.size());
  for (const T& value : values) write(type.item(), value);
  drain_(context_, bytes_);
}

template <class T>
void ValueWriter::record(const Type& type, const T& value) {
  if (type.kind != Type::Kind::record) misfit(type);
  for (const Part& part : type.parts) {
    bool written = false;
    const auto try_member = [&](const auto& member) {
      if constexpr (requires { member.value; }) {
        if (member.name != part.name) return;
        write(*part.type, value.*member.value);
        written = true;
      }
    };
    std::apply([&](const auto&... member) { (try_member(member), ...); }, Members<T>::list);
    if (!written) misfit(*part.type);
  }
}

template <class T>
void ValueWriter::integer(const Type& type, T value) {
  switch (type.encoding) {
    case Encoding::byte:
      bytes_.push_back(static_cast<std::byte>(value));
      return;
    case Encoding::varint:
      append_varint(bytes_, static_cast<std::uint64_t>(value));
      return;
    case Encoding::zigzag:
      append_varint(bytes_, to_zigzag(static_cast<std::int64_t>(value)));
      return;
    default:
      misfit(type);
  }
}

template <class T>
void ValueWriter::raw(const T& value) {
  const auto* source = reinterpret_cast<const std::byte*>(&value);
  bytes_.insert(bytes_.end(), source, source + sizeof value);
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
