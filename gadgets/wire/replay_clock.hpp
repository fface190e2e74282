// Paces a replay by when its frames came in.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

namespace tofstream {

class ReplayClock {
 public:
  /// `speed` times as fast as the frames came in; 0: nobody waits.
  explicit ReplayClock(double speed) : speed_(speed) {}

  /// Until it is the turn of what came in then, counted from the first call; or until the stop.
  void wait_for(std::uint64_t ingress_ns, const std::stop_token& stop) {
    if (speed_ <= 0) return;
    if (!first_ns_) {
      first_ns_ = ingress_ns;
      began_ = Clock::now();
    }
    const double ns = static_cast<double>(ingress_ns - std::min(*first_ns_, ingress_ns)) / speed_;
    const auto turn =
        began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::nano>(ns));
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wake;
    wake.wait_until(lock, stop, turn, [] { return false; });
  }

 private:
  using Clock = std::chrono::steady_clock;

  const double speed_;
  std::optional<std::uint64_t> first_ns_;
  Clock::time_point began_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
