// A message as it came over the wire, be it a sound frame or not.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/gadget/payload.hpp"

namespace tofstream {

struct RawFrame {
  std::shared_ptr<const void> owner;  // of the data
  std::span<const std::byte> data;
  std::uint64_t ingress_ns = 0;  // when it came in, since 1970-01-01 UTC
  // The same by the clock that latencies are reckoned with; none of a recording, which comes in when it is replayed.
  std::chrono::steady_clock::time_point entered{};
  // Those of the stream that the books have as received with this message: none where they are booked elsewhere, or
  // where they do not count, as in a frame that came twice.
  std::uint64_t events = 0;

  std::uint64_t event_count() const { return events; }
  std::size_t bytes() const { return data.size(); }

  static RawFrame of(std::vector<std::byte> bytes, std::uint64_t ingress_ns) {
    const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return {owner, *owner, ingress_ns};
  }
};

template <>
struct PayloadName<RawFrame> {
  static constexpr auto value = "frame";
};
template <>
struct Spill<RawFrame> {
  static void encode(const RawFrame& frame, SpillWriter& to);
  static RawFrame decode(SpillReader& from);
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
