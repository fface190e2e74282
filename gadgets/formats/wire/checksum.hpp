// CRC32C (Castagnoli), the checksum of frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tofstream::wire {

/// CRC32C of the bytes, as RFC 3720 (B.4) defines it; of what came before and these bytes together, where `before` is
/// the CRC32C of what came before.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace tofstream::wire
