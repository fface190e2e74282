// Events of a scanner: see correct_support.hpp.
#include "tests/kernels/ring/correct_support.hpp"

#include <random>

namespace tofstream::testing {

EventBatch random_events(const std::shared_ptr<const Scanner>& scanner, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  const auto detectors = static_cast<std::uint32_t>(scanner->detectors->size());
  EventBatch batch;
  batch.count = count;
  batch.scanner = scanner;
  batch.detectors = scanner->detectors;
  batch.duration_s = 1;
  batch.detector1 = batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
  if (!scanner->tof.empty()) {
    batch.tof = scanner->tof.front();
    batch.tof_mm = Buffer<float>(Memory::host, count);
  }
  const auto bins = std::lround(batch.tof.bin_width_mm > 0 ? batch.tof.window_mm / batch.tof.bin_width_mm : 1);
  for (std::int64_t i = 0; i < count;) {
    const auto a = static_cast<std::uint32_t>(random() % detectors),
               b = static_cast<std::uint32_t>(random() % detectors);
    if (!scanner->in_coincidence(a, b)) continue;
    batch.detector1[i] = std::max(a, b);
    batch.detector2[i] = std::min(a, b);
    if (!batch.tof_mm.empty())
      batch.tof_mm[i] =
          (static_cast<float>(random() % static_cast<unsigned>(bins)) - 0.5f * static_cast<float>(bins - 1)) *
          batch.tof.bin_width_mm;
    ++i;
  }
  return batch;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
