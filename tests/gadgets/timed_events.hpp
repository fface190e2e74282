// Events of a small ring that know their time, for tests of objects that move.
#pragma once

#include <cstdint>

#include "gadgets/payloads.hpp"
#include "kernels/types/scanner.hpp"
#include "tests/support/small_ring.hpp"

namespace tofstream::testing {

/// Events of the small ring, `count` of them evenly over a time.
inline EventBatch timed_events(std::int64_t count, double start_s, double duration_s) {
  static const auto scanner = make_scanner(small_ring());
  EventBatch batch;
  batch.count = count;
  batch.scanner = scanner;
  batch.detectors = scanner->detectors;
  batch.tof = scanner->tof.front();
  batch.detector1 = Buffer<std::uint32_t>(Memory::host, count);
  batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
  batch.tof_mm = Buffer<float>::zeros(Memory::host, count);
  for (std::int64_t i = 0; i < count; ++i) {
    batch.detector1[i] = static_cast<std::uint32_t>(400 + i % 100);
    batch.detector2[i] = static_cast<std::uint32_t>(i % 100);
  }
  batch.start_s = start_s;
  batch.duration_s = duration_s;
  return batch;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
