// The wire form of coincidence events: three varints each (bin, bin, ToF bin), decoded at several
// hundred million events a second where the processor has BMI2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gadgets/formats/petsird/time_blocks.hpp"

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

/// Decodes events from the front of `bytes` into `events` and takes their bytes away; returns how
/// many. It stops early before an event that is out of the limits and within a few events of the
/// end of `bytes`: what is left is for a reader that goes byte by byte.
std::size_t decode_events(std::span<const std::byte>& bytes, std::span<CoincidenceEvent> events,
                          const EventLimits& limits);

/// Appends a varint.
void append_varint(std::vector<std::byte>& bytes, std::uint64_t value);

/// Bytes that a varint takes in its shortest form.
constexpr std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

}  // namespace tofstream::petsird
