// What lies on an edge: a payload and what core knows of it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/gadget/context.hpp"
#include "core/gadget/payload.hpp"

namespace tofstream {

struct Message {
  Payload payload;
  MessageInfo info;
  std::uint64_t events = 0;
  std::size_t bytes = 0;
};

// The origin of what a flush gives: after all messages of the source. All ones stand for an edge that is over.
inline constexpr std::uint64_t origin_of_flush = std::numeric_limits<std::uint64_t>::max() - 1;

inline bool has_events(const MessageInfo& info) {
  return info.end_event > info.first_event;
}

// Takes `other` into the span of origins, events and times of `info`, whose sequence number stays.
inline void widen(MessageInfo& info, const MessageInfo& other) {
  info.origin = std::max(info.origin, other.origin);
  info.ingress = std::min(info.ingress, other.ingress);
  info.last_ingress = std::max(info.last_ingress, other.last_ingress);
  if (!has_events(other)) return;
  info.first_event = has_events(info) ? std::min(info.first_event, other.first_event) : other.first_event;
  info.end_event = std::max(info.end_event, other.end_event);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
