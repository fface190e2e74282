// Scanners and batches for the tests of corrections.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/types/scanner.hpp"
#include "tests/support/small_ring.hpp"

namespace tofstream::testing {

/// Events of random pairs in coincidence and random ToF bins, detector1 > detector2.
EventBatch random_events(const std::shared_ptr<const Scanner>& scanner, std::int64_t count, unsigned seed);

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
