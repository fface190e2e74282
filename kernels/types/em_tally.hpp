// What an EM step saw of its data.
#pragma once

#include <cstdint>

namespace tofstream {

/// Events (or counts) used, those skipped because their expectation was 0, and the sum of log(expectation) over the
/// used.
struct EmTally {
  std::int64_t used = 0;
  std::int64_t skipped = 0;
  double log_sum = 0;

  EmTally& operator+=(const EmTally& other) {
    used += other.used;
    skipped += other.skipped;
    log_sum += other.log_sum;
    return *this;
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
