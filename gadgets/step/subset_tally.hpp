// What was seen of a subset by those who project it.
#pragma once

#include <cstdint>

#include "kernels/types/em_tally.hpp"

namespace tofstream {

struct SubsetTally {
  EmTally all, of_new;            // of_new: of data that were in no update before
  std::int64_t without_plan = 0;  // new batches that should have a plan
  SubsetTally& operator+=(const SubsetTally& other) {
    all += other.all;
    of_new += other.of_new;
    without_plan += other.without_plan;
    return *this;
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
