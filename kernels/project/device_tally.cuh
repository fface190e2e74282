// The EM tally on the device: what CUDA projectors add to, a warp at a time, and read back at the
// end of a step.
#pragma once

#include "kernels/types/em_tally.hpp"

namespace tofstream {

struct DeviceTally {
  unsigned long long used, skipped;
  double log_sum;

  EmTally on_host() const { return {static_cast<std::int64_t>(used), static_cast<std::int64_t>(skipped), log_sum}; }
};

/// Adds each warp's share of the tally with one atomic a field. All lanes of the warp must call;
/// `logarithm` is that of a used expectation, else 0.
__device__ inline void add_tally(bool used, bool skipped, double logarithm, DeviceTally* tally) {
  constexpr unsigned all = 0xffffffffu;
  const unsigned used_lanes = __ballot_sync(all, used), skipped_lanes = __ballot_sync(all, skipped);
  for (int distance = 16; distance > 0; distance /= 2) logarithm += __shfl_down_sync(all, logarithm, distance);
  if (threadIdx.x % 32 != 0) return;
  if (skipped_lanes) atomicAdd(&tally->skipped, static_cast<unsigned long long>(__popc(skipped_lanes)));
  if (!used_lanes) return;
  atomicAdd(&tally->used, static_cast<unsigned long long>(__popc(used_lanes)));
  atomicAdd(&tally->log_sum, logarithm);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
