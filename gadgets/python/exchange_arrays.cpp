// Arrays to and from Python: see exchange_arrays.hpp.
#include "gadgets/python/exchange_arrays.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <tbb/parallel_for.h>

namespace tofstream {
namespace {

constexpr std::size_t alignment = 64;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Copies by pieces on all cores. A piece is small enough that memcpy writes through the caches, where Python finds it.
void copy_in_pieces(std::byte* to, const void* from, std::size_t bytes) {
  constexpr std::size_t piece = 256 << 10;
  const auto* source = static_cast<const std::byte*>(from);
  tbb::parallel_for(std::size_t{0}, (bytes + piece - 1) / piece, [&](std::size_t i) {
    std::memcpy(to + i * piece, source + i * piece, std::min(piece, bytes - i * piece));
  });
}

// NaN and infinity have all bits of the exponent set. An object, so that the loop of any() takes it in: a call an event
// would cost three memory copies.
constexpr auto is_not_finite = [](float value) {
  constexpr std::uint32_t exponent = 0x7f800000;
  return (std::bit_cast<std::uint32_t>(value) & exponent) == exponent;
};

}  // namespace

void Placing::add(const char* name, const void* data, std::size_t bytes) {
  if (bytes == 0) return;
  if (arena_.contains(data, bytes)) {
    offer_.lease.ranges.push_back({name, arena_.offset_of(data), bytes});
    offer_.lease.is_payload = true;
  } else {
    copies_.push_back({name, data, bytes});
    total_ += aligned(bytes);
  }
}

void Placing::finish() {
  if (copies_.empty()) return;
  const auto block = arena_.allocate(total_);
  std::size_t at = 0;
  for (const Copy& copy : copies_) {
    copy_in_pieces(block->data + at, copy.data, copy.bytes);
    offer_.lease.ranges.push_back({copy.name, block->offset + at, copy.bytes});
    at += aligned(copy.bytes);
  }
  offer_.lease.owners.push_back(block);
}

PythonJson Placing::ranges() const {
  PythonJson all = PythonJson::object();
  for (const NamedRange& range : offer_.lease.ranges) all[range.name] = range.offset;
  return all;
}

void check_finite(const char* name, const Buffer<float>& array, const std::string& where) {
  if (!any(array.data(), array.size(), is_not_finite)) return;
  std::int64_t i = 0;
  while (!is_not_finite(array[i])) ++i;
  throw std::runtime_error(fmt::format("{} gave {} in {}[{}]: only finite numbers go on", where,
                                       std::isnan(array[i]) ? "NaN" : "infinity", name, i));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
