// The time of day, as messages and files carry it.
#pragma once

#include <chrono>
#include <cstdint>

namespace tofstream {

/// Nanoseconds since 1970-01-01 UTC, by this machine's clock.
inline std::uint64_t wall_clock_ns() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace tofstream
