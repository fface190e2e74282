// Batches of events made one: a GPU loads its tiles of the image once for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/types/events.hpp"

namespace tofstream {

/// Whether the events of both may be in one batch: they have the same scanner, ToF response and arrays, and both are
/// prompts or both delayeds.
bool can_join(const EventBatch& a, const EventBatch& b);

/// The events of the batches, one batch after the other, in one batch in `memory`, complete on return. Its time is that
/// of all batches together, its exposure their mean over time; `arrival` and the bounds of a partition are dropped.
/// Batches may lie on the host or the device. Throws std::invalid_argument for no batches or such as
/// cannot be joined, and OutOfMemory.
EventBatch join_events(std::span<const EventBatch> batches, Memory memory, Stream stream = nullptr);

/// Batches that can be joined, in groups of at most `most_events` (or one larger batch); groups and what is in a group
/// keep the batches' order. Empty batches are left out, but for the last where
/// all are empty.
std::vector<std::vector<EventBatch>> groups_to_join(std::vector<EventBatch> batches, std::int64_t most_events);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
