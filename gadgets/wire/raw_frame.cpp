// How frames are put on disk where an edge spills: see core/gadget/spill.hpp.
#include "gadgets/wire/raw_frame.hpp"

#include "core/gadget/spill.hpp"

namespace tofstream {

void Spill<RawFrame>::encode(const RawFrame& frame, SpillWriter& to) {
  to.value(frame.ingress_ns);
  to.value(frame.entered);
  to.value(frame.events);
  to.array(frame.data);
}

RawFrame Spill<RawFrame>::decode(SpillReader& from) {
  const auto ingress_ns = from.value<std::uint64_t>();
  const auto entered = from.value<std::chrono::steady_clock::time_point>();
  const auto events = from.value<std::uint64_t>();
  RawFrame frame = RawFrame::of(from.array<std::byte>(), ingress_ns);
  frame.entered = entered;
  frame.events = events;
  return frame;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
