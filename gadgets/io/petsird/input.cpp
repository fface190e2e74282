// The rare and the bulk paths of the byte input: over-long varints, and skipping many at a time.
#include "gadgets/io/petsird/input.hpp"

#include <bit>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {

void Input::overlong(unsigned bits) const {
  throw DataError(fmt::format("a number that ends here does not fit {} bits", bits));
}

std::uint64_t Input::skip_varints(std::uint64_t count) {
  constexpr std::uint64_t high_bits = 0x8080808080808080U;
  std::uint64_t ended = 0;
  while (rest_.size() >= sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, rest_.data(), sizeof bytes);
    const auto ends = static_cast<std::uint64_t>(std::popcount(~bytes & high_bits));
    if (ended + ends >= count) break;  // the last one ends inside these eight bytes
    ended += ends;
    advance(sizeof bytes);
  }
  while (ended < count && !rest_.empty()) {
    if (std::to_integer<unsigned>(rest_.front()) < 0x80) ++ended;
    advance(1);
  }
  return ended;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
