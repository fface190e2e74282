// The EM tally on the device: what CUDA projectors add to, a warp at a time, and read back at the
// end of a step.
#pragma once

#include "kernels/project/event_ratio.hpp"
#include "kernels/types/em_tally.hpp"

namespace tofstream {

struct DeviceTally {
  unsigned long long used, skipped;
  double log_sum;

  EmTally on_host() const { return {static_cast<std::int64_t>(used), static_cast<std::int64_t>(skipped), log_sum}; }
};

/// Adds each warp's share of the tally with one atomic a field. All lanes of the warp must call; those without an event
/// with one that has no counts.
__device__ inline void add_tally(const EventRatio& event, float expectation, DeviceTally* tally) {
  constexpr unsigned all = 0xffffffffu;
  const auto counts = static_cast<unsigned long long>(event.y);
  unsigned long long used = event.is_used ? counts : 0, skipped = event.is_used ? 0 : counts;
  double logarithm = used > 0 ? static_cast<double>(event.y) * log(static_cast<double>(expectation)) : 0;
  for (int distance = 16; distance > 0; distance /= 2) {
    used += __shfl_down_sync(all, used, distance);
    skipped += __shfl_down_sync(all, skipped, distance);
    logarithm += __shfl_down_sync(all, logarithm, distance);
  }
  if (threadIdx.x % 32 != 0) return;
  if (skipped > 0) atomicAdd(&tally->skipped, skipped);
  if (used == 0) return;
  atomicAdd(&tally->used, used);
  atomicAdd(&tally->log_sum, logarithm);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
