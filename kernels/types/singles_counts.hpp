// Single photons that each detector counted in a stretch of scan time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tofstream {

/// Singles within the energy window of coincidences, and how the coincidences of the same scan were sorted.
struct SinglesCounts {
  double start_s = 0, duration_s = 0;
  std::vector<std::uint64_t> counts;  // one a detector
  double window_s = 0;                // all differences of times that make a coincidence, from end to end; 0: not known
  bool multiples_rejected = false;    // three photons and more within the window make no coincidence
  std::string unusable = {};          // why the recording's singles are no rates of detectors; then counts is empty
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
