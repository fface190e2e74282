// Orders events for projection: partition by predominant axis of the LOR, then sort by ToF centre
// (Cui et al. 2011, II.B), and cuts a sorted batch again into pieces consecutive in time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// The order within a group of one predominant axis.
enum class SortKey {
  tof_centre,  // along the axis, as Cui et al. 2011 sort; resolved to 2^-16 mm
  morton,      // Morton order of the ToF centre on cubic cells: neighbours in all three directions
};

struct SortSettings {
  SortKey key = SortKey::morton;
  float cell_mm = 8;  // edge of a Morton cell: 256 cells an axis about the origin, clamped beyond
};

/// The same events, grouped by the axis (x, y, z) along which their LOR is longest in mm, and
/// within a group sorted by the centre of the ToF bin (midpoint + tof * direction; the midpoint of
/// non-ToF events). Stable; every per-event array moves along. Sets `axis_begin`, and `arrival` to
/// the rank at which each event came (an `arrival` that the batch brings is carried along instead).
/// A batch outside the backend's memory is copied there first; results are queued on the stream.
/// Takes 16 bytes an event of scratch while it sorts, then one array at a time.
/// Throws std::length_error for more than 2^32 - 1 events, std::invalid_argument for a cell edge
/// that is not positive, std::runtime_error for a missing GPU.
EventBatch partition_and_sort(EventBatch batch, Backend backend, Stream stream = nullptr,
                              const SortSettings& settings = {});

/// Whether pieces of a batch, which may be cut again, still know in which order their events came.
enum class ArrivalRanks { dropped, kept };

/// Cuts a batch at arrival ranks: `cuts` = {b1, b2, ...} gives the events of ranks [0, b1),
/// [b1, b2), ..., [bn, count), each piece in the order of the batch, so still partitioned and
/// sorted, and without `arrival`, or with ranks from 0 on. The batch's time is shared in proportion to the ranks. A batch
/// without `arrival` is taken to be in order of arrival. At most one array is held twice; without cuts none is moved.
/// Throws std::invalid_argument unless cuts are non-decreasing and within [0, count].
std::vector<EventBatch> split_by_arrival(EventBatch&& batch, std::span<const std::int64_t> cuts,
                                         Stream stream = nullptr, ArrivalRanks ranks = ArrivalRanks::dropped);

/// Deals a batch out like cards: piece k of `pieces` has the events whose number in the stream, `first` + arrival rank,
/// is k modulo `pieces`, in the order of the batch, so still partitioned and sorted, and without `arrival`. Each piece
/// covers the whole time of the batch and stands for an equal share of it. Throws std::invalid_argument for less than
/// one piece or a negative `first`.
std::vector<EventBatch> deal_by_arrival(EventBatch&& batch, int pieces, std::int64_t first, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
