// The wire form of coincidence events: three varints each (bin, bin, ToF bin), decoded at several
// hundred million events a second where the processor has BMI2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gadgets/io/petsird/time_blocks.hpp"

namespace tofstream::petsird {

/// How many values each number of an event may take.
struct EventLimits {
  std::uint32_t bins1 = 0;
  std::uint32_t bins2 = 0;
  std::uint32_t tof_bins = 0;

  bool contain(const CoincidenceEvent& event) const {
    return event.bin1 < bins1 && event.bin2 < bins2 && event.tof < tof_bins;
  }
};

/// Bytes that an event takes at most.
inline constexpr std::size_t longest_event = 15;
/// The fast decoding takes events in groups: give it room for at least so many.
inline constexpr std::size_t most_events_at_once = 22;

/// Decodes events from the front of `bytes` into `events` and takes their bytes away; returns how many: fewer than
/// there is room for, where it is not worth going on in the same way. 0 means that the next event is out of the limits
/// or that `bytes` is near its end: what is left is for a reader that goes byte by byte.
std::size_t decode_events(std::span<const std::byte>& bytes, std::span<CoincidenceEvent> events,
                          const EventLimits& limits);

/// How many varints end in these bytes.
std::size_t count_varints(std::span<const std::byte> bytes);

/// Writes an event; returns how many bytes it took.
std::size_t encode_event(const CoincidenceEvent& event, std::span<std::byte, longest_event> bytes);

/// Appends a varint.
void append_varint(std::vector<std::byte>& bytes, std::uint64_t value);

/// Bytes that a varint takes in its shortest form.
constexpr std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
