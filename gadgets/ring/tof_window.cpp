// Rejects events whose ToF lies far from the middle of their line: outside the field of view nothing emits.
#include <cmath>
#include <span>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/sort/select.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {
namespace {

struct TofWindow {
  struct Params {
    float half_width_mm = 300;
  };
  static constexpr auto params = describe(param<&Params::half_width_mm>("half_width_mm", positive, unit("mm"), live,
                                                                        "Events farther from the middle are rejected"));
  static constexpr bool harmless = true;
  // Selected events are copied array by array, by a list of positions.
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.call_bytes = inputs[0], .message_bytes = inputs[0]};
  }
  EventBatch operator()(EventBatch batch, const Params& p) const {
    return select(host_batch(std::move(batch)), [&](const EventView& events, std::int64_t i) {
      return !events.tof_mm || std::abs(events.tof_mm[i]) <= p.half_width_mm;
    });
  }
};

TOFSTREAM_GADGET(TofWindow, "tof_window", "Rejects events far from the middle of their line");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
