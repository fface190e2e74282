// Coincidence events decoded on all cores, where the bytes of many are there.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "gadgets/io/petsird/event_codec.hpp"

namespace tofstream::petsird {

/// Bytes from which on several cores are worth it.
inline constexpr std::size_t parallel_bytes = std::size_t{1} << 16;

/// Takes some events, of which the first has this number. Several threads call it at once.
using PutEvents = std::function<void(std::size_t first, std::span<const CoincidenceEvent> events)>;

/// Decodes at most `most` events from the front of `bytes` and takes their bytes away; stops before the first that is
/// out of the limits, and near the end of `bytes`. Returns how many; those put with higher numbers do not count.
std::size_t decode_events_in_parallel(std::span<const std::byte>& bytes, std::size_t most, const EventLimits& limits,
                                      const PutEvents& put);

}  // namespace tofstream::petsird
