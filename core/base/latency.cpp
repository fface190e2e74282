#include "core/base/latency.hpp"

#include <algorithm>
#include <cmath>

namespace tofstream {

void LatencyHistogram::add(std::chrono::steady_clock::duration latency) {
  const double seconds = std::max(0.0, std::chrono::duration<double>(latency).count());
  const double step = std::ceil(std::log2(std::max(seconds, smallest) / smallest) * steps_per_octave);
  ++buckets_[std::min(static_cast<std::size_t>(step), buckets_.size() - 1)];
  ++count_;
  max_ = std::max(max_, seconds);
}

void LatencyHistogram::add(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

double LatencyHistogram::quantile_seconds(double fraction) const {
  const double wanted = fraction * static_cast<double>(count_);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i];
    if (below > 0 && static_cast<double>(below) >= wanted)
      return std::min(max_, smallest * std::exp2(static_cast<double>(i) / steps_per_octave));
  }
  return 0;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
