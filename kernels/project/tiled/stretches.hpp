// A batch of events cut into stretches that are planned and projected one after the other, so that the memory for plans
// that are not kept is bounded.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/types/events.hpp"

namespace tofstream::tiled {

/// As few stretches as have at most `at_a_time` events each, and as equal as can be; one, empty, of no events.
class Stretches {
 public:
  Stretches(const EventView& events, std::int64_t at_a_time)
      : events_(events), count_(std::max<std::int64_t>((events.count + at_a_time - 1) / at_a_time, 1)) {}
  std::int64_t count() const { return count_; }
  /// The number in the batch of stretch k's first event.
  std::int64_t first_event(std::int64_t k) const { return events_.count * k / count_; }
  EventView operator[](std::int64_t k) const {
    return events_.slice(first_event(k), first_event(k + 1) - first_event(k));
  }

 private:
  EventView events_;
  std::int64_t count_;
};

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
