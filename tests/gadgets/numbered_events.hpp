// Events that tell where they were in the stream, for tests of how a stream is cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gadgets/payloads.hpp"
#include "kernels/sort/partition.hpp"

namespace tofstream::testing {

/// Free-ended events whose ToF is their number in the stream, so that a test can tell them apart, sorted from the last one
/// to the first.
inline EventBatch numbered_batch(int first, int count, double start_s, double duration_s) {
  EventBatch batch;
  batch.count = count;
  batch.start_s = start_s;
  batch.duration_s = duration_s;
  for (int e = 0; e < 6; ++e) {
    batch.ends[e] = Buffer<float>(Memory::host, count);
    for (int i = 0; i < count; ++i) batch.ends[e][i] = e == 0 ? -100.0f : (e == 3 ? 100.0f : 0.0f);
  }
  batch.tof = {.sigma_mm = 40};
  batch.tof_mm = Buffer<float>(Memory::host, count);
  for (int i = 0; i < count; ++i) batch.tof_mm[i] = static_cast<float>(-(first + i));
  return partition_and_sort(std::move(batch), Backend::cpu, nullptr, {.key = SortKey::tof_centre});
}

/// The numbers of a subset's events, ascending.
inline std::vector<int> numbers(const EventSubset& subset) {
  std::vector<int> all;
  for (const auto& batch : subset.batches)
    for (std::int64_t i = 0; i < batch->count; ++i) all.push_back(static_cast<int>(-batch->tof_mm[i]));
  std::ranges::sort(all);
  return all;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
