// The ratio of list-mode EM, y / (A x + c/m), and its books (conventions.md, list-mode EM): of an event for host and
// device, and of all that a CPU projector has.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/math/log_sum.hpp"
#include "kernels/project/expectation.hpp"
#include "kernels/types/em_tally.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// What an event gives to EM for an expectation.
struct EventRatio {
  float y = 0, ratio = 0;
  bool is_used = false;  // else its counts are skipped

  /// `counts`: of all events, or null for 1 each. The ratio is times `scale`.
  TOFSTREAM_HOST_DEVICE static EventRatio of(const float* counts, std::int64_t i, float expectation, float scale = 1) {
    const float y = counts ? counts[i] : 1.0f;
    return usable(expectation) ? EventRatio{y, y * scale / expectation, true} : EventRatio{y};
  }
};

class EventRatios {
 public:
  explicit EventRatios(const EventView& events) : events_(events) {}

  /// False for an empty bin of a histogram: its ratio is 0, whatever is expected of it.
  bool counts(std::int64_t i) const { return !events_.counts || events_.counts[i] > 0; }

  /// The ratio of event i for (A x)_i = `projected`, whose counts are taken into the tally; 0 where it is skipped or
  /// empty.
  float of(std::int64_t i, float projected) {
    const float expectation = events_.additive ? projected + events_.additive[i] : projected;
    const EventRatio event = EventRatio::of(events_.counts, i, expectation);
    (event.is_used ? tally_.used : tally_.skipped) += static_cast<std::int64_t>(event.y);
    if (event.is_used && event.y > 0) logarithms_.add(expectation, event.y);
    return event.ratio;
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
