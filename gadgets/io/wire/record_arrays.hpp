// Arrays one after the other in a frame's payload, as the kinds of records write and read them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/memory/memory.hpp"

namespace tofstream::wire {

static_assert(std::endian::native == std::endian::little, "records are copied as memory holds them");

/// The first `count` numbers of what is left of a payload, which must be there; `rest` is then what follows them.
template <class T>
Buffer<T> read_array(std::span<const std::byte>& rest, std::int64_t count) {
  Buffer<T> array(Memory::host, count);
  std::memcpy(array.data(), rest.data(), array.bytes());
  rest = rest.subspan(array.bytes());
  return array;
}

/// Writes the array's first `count` numbers, which lie on the host, into a payload that has room for them; `rest` is
/// then what follows them.
template <class T>
void write_array(const Buffer<T>& array, std::int64_t count, std::span<std::byte>& rest) {
  const auto values = std::as_bytes(array.span().first(static_cast<std::size_t>(count)));
  std::memcpy(rest.data(), values.data(), values.size());
  rest = rest.subspan(values.size());
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
