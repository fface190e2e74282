// CRC32C by ISA-L, which takes the processor's fastest way at run time.
#include "gadgets/io/wire/checksum.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace tofstream::wire {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  constexpr std::size_t most_at_once = 1 << 30;  // ISA-L counts in int
  std::uint32_t state = ~before;                 // ISA-L leaves the inversions at both ends to its caller
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), most_at_once));
    // ISA-L reads only, but its declaration has no const.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    state = ::crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes = bytes.subspan(piece.size());
  }
  return ~state;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
