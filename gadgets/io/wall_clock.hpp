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

/// Times of one stream since 1970-01-01 UTC: the time of day at the start, then by the steady clock. Their distances
/// are therefore right even if this machine's clock is set meanwhile.
class StreamClock {
 public:
  using Steady = std::chrono::steady_clock;

  explicit StreamClock(std::uint64_t begin_ns = wall_clock_ns(), Steady::time_point begin = Steady::now())
      : begin_ns_(begin_ns), begin_(begin) {}

  /// Nanoseconds since 1970-01-01 UTC of a time at or after the start.
  std::uint64_t ns(Steady::time_point time) const {
    return begin_ns_ +
           static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time - begin_).count());
  }

 private:
  std::uint64_t begin_ns_;
  Steady::time_point begin_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
