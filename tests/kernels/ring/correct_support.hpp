// Scanners and batches for the tests of corrections.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::testing {

/// Two rings of 16 flat modules of 4x4 crystals; 512 detectors.
RingScanner small_ring();

/// Events of random pairs in coincidence and random ToF bins, detector1 > detector2.
EventBatch random_events(const std::shared_ptr<const Scanner>& scanner, std::int64_t count, unsigned seed);

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
