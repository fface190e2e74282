// Arrays between tofstream and Python: lent as places in shared memory, taken back without a copy. For exchange.cpp and
// exchange_views.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "gadgets/python/exchange.hpp"
#include "gadgets/python/session.hpp"

namespace tofstream {

/// Puts arrays where Python sees them: collects what has to be copied, then copies it into one block.
class Placing {
 public:
  Placing(SharedArena& arena, Offer& offer) : arena_(arena), offer_(offer) {}

  void add(const char* name, const void* data, std::size_t bytes);
  void finish();
  /// The offset of each array, by its name.
  PythonJson ranges() const;

 private:
  struct Copy {
    const char* name;
    const void* data;
    std::size_t bytes;
  };
  SharedArena& arena_;
  Offer& offer_;
  std::vector<Copy> copies_;
  std::size_t total_ = 0;
};

/// True where one of the values is bad. Written without a branch, so that the compiler makes vectors of it.
template <class T, class Bad>
bool any(const T* values, std::int64_t count, Bad bad) {
  const auto in = [values, bad](const tbb::blocked_range<std::int64_t>& part, std::uint32_t found) {
    for (std::int64_t i = part.begin(); i < part.end(); ++i) found |= bad(values[i]) ? 1U : 0U;
    return found;
  };
  constexpr std::int64_t grain = 1 << 17;
  return tbb::parallel_reduce(tbb::blocked_range<std::int64_t>(0, count, grain), 0U, in, std::bit_or<>{}) != 0;
}

/// Throws std::runtime_error, with where the gadget is defined, for NaN or infinity.
void check_finite(const char* name, const Buffer<float>& array, const std::string& where);

/// The array at a place of the arena, without a copy. Throws std::runtime_error where the place is not Python's to give.
template <class T>
Buffer<T> adopt(const PythonJson& place, std::int64_t count, PythonSession& session, bool& is_shared) {
  const auto offset = place.get<std::size_t>();
  if (offset % alignof(T) != 0 || count > static_cast<std::int64_t>(session.arena().size() / sizeof(T)))
    throw std::runtime_error(fmt::format("{} gave memory that is not its own", session.where()));
  RangeOwner found = session.owner_of(offset, static_cast<std::size_t>(count) * sizeof(T));
  is_shared = is_shared || found.is_shared;
  return Buffer<T>::adopt(reinterpret_cast<T*>(session.arena().data() + offset), count, std::move(found.owner));
}

/// True where the array is the one that was lent last under the same name: it needs no check.
template <class T>
bool is_unchanged(const char* name, const Buffer<T>& array, PythonSession& session) {
  const Lease* lease = session.current();
  if (!lease || array.empty()) return array.empty();
  const std::size_t offset = session.arena().offset_of(array.data());
  for (const NamedRange& range : lease->ranges)
    if (range.name == name) return offset >= range.offset && offset + array.bytes() <= range.offset + range.bytes;
  return false;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
