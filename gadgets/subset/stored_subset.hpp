// A subset's data where they can be projected from, kept for their updates.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/types/conditions.hpp"

namespace tofstream {

/// `Data`: see Subset (gadgets/payloads.hpp).
template <class Data>
struct StoredSubset {
  std::vector<std::shared_ptr<const Data>> batches;
  double seconds = 0;
  double exposed_s = 0;  // the same, weighted with each batch's exposure; the sensitivity is scaled with it
  double time_fraction = 1;
  Conditions conditions = {};  // of list mode, the mean over this time
  int gate = 0;                // whose data these are; 0: of no gate
  bool is_rest = false;        // too few events for an update of its own: used with the subset before it

  std::uint64_t event_count() const {
    std::uint64_t sum = 0;
    for (const auto& batch : batches) sum += batch->event_count();
    return sum;
  }
  /// Adds the events that follow it.
  void join(StoredSubset rest) {
    batches.insert(batches.end(), rest.batches.begin(), rest.batches.end());
    seconds += rest.seconds;
    MeanConditions both;
    both.add(conditions, exposed_s);
    both.add(rest.conditions, rest.exposed_s);
    conditions = both.get();
    exposed_s += rest.exposed_s;
    time_fraction += rest.time_fraction;
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
