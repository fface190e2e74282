// A histogram of durations with buckets that grow by 1/16 of an octave (4.4%), from 1 microsecond
// to hours: percentiles of any number of messages in fixed memory.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>

namespace tofstream {

class LatencyHistogram {
 public:
  void add(std::chrono::steady_clock::duration latency);
  void add(const LatencyHistogram& other);

  std::uint64_t count() const { return count_; }
  double max_seconds() const { return max_; }
  // The latency that the given fraction of messages did not exceed, to within a bucket; 0 without
  // messages.
  double quantile_seconds(double fraction) const;

 private:
  static constexpr int steps_per_octave = 16;
  static constexpr double smallest = 1e-6;

  std::array<std::uint64_t, 36 * steps_per_octave> buckets_{};
  std::uint64_t count_ = 0;
  double max_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
