// Coincidence events decoded on all cores, where the bytes of many are there.
#pragma once

#include <cstddef>
#include <span>

#include "gadgets/io/petsird/event_codec.hpp"

namespace tofstream::petsird {

/// Bytes from which on several cores are worth it.
inline constexpr std::size_t parallel_bytes = std::size_t{1} << 17;

/// As decode_events: decodes events from the front of `bytes` into `events` and takes their bytes away; stops before
/// the first that is out of the limits, and near the end of `bytes`. Returns how many; what follows them in `events` is
/// undefined.
std::size_t decode_events_in_parallel(std::span<const std::byte>& bytes, std::span<CoincidenceEvent> events,
                                      const EventLimits& limits);

}  // namespace tofstream::petsird
