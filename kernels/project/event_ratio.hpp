// The ratio of list-mode EM, y / (A x + c/m), and its books: one text for all CPU projectors of events
// (conventions.md, list-mode EM).
#pragma once

#include <cstdint>

#include "kernels/math/log_sum.hpp"
#include "kernels/project/expectation.hpp"
#include "kernels/types/em_tally.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

class EventRatios {
 public:
  explicit EventRatios(const EventView& events) : events_(events) {}

  /// False for an empty bin of a histogram: its ratio is 0, whatever is expected of it.
  bool counts(std::int64_t i) const { return !events_.counts || events_.counts[i] > 0; }

  /// The ratio of event i for (A x)_i = `projected`, whose counts are taken into the tally; 0 where it is skipped or
  /// empty.
  float of(std::int64_t i, float projected) {
    const float y = events_.counts ? events_.counts[i] : 1.0f;
    const float expectation = events_.additive ? projected + events_.additive[i] : projected;
    if (!usable(expectation)) {
      tally_.skipped += static_cast<std::int64_t>(y);
      return 0;
    }
    tally_.used += static_cast<std::int64_t>(y);
    if (y > 0) logarithms_.add(expectation, y);
    return y / expectation;
  }

  EmTally tally() {
    tally_.log_sum = logarithms_.value();
    return tally_;
  }

 private:
  const EventView events_;
  EmTally tally_;
  LogSum logarithms_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
