// CRC32C (Castagnoli), the checksum of frames and images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tofstream::wire {

/// CRC32C of the bytes, as RFC 3720 (B.4) defines it; of what came before and these bytes together, where `before` is
/// the CRC32C of what came before.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The CRC32C of a message whose own checksum stands in the four bytes from `at` on: of all bytes but these.
inline std::uint32_t crc32c_around(std::span<const std::byte> message, std::size_t at) {
  return crc32c(message.subspan(at + sizeof(std::uint32_t)), crc32c(message.first(at)));
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
