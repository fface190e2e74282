// The order in which a core visits a range of events: those whose lines run alike and whose ToF centres are neighbours
// come one after the other, and meet voxels that still lie in the core's caches.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

/// Whether the events look as if they were sorted: the first of them share their dominant axis.
bool comes_in_order(const EventView& events);

class VisitOrder {
 public:
  /// So many events are put in order at a time.
  static constexpr std::int64_t most = 1 << 14;

  /// For an image of this grid: ToF centres are told apart by cells of a few voxels.
  explicit VisitOrder(const Grid& grid);

  /// Each of [0, events.count) once, by dominant axis and cell, and within these as they came; the same for the same
  /// events. At most `most` of them, in the host's memory. Holds until the next call.
  std::span<const std::uint32_t> of(const EventView& events);

 private:
  static constexpr int cell_bits = 4, keys = 3 << (3 * cell_bits);

  std::uint16_t key(const EventView& events, std::int64_t i) const;

  Vec3 cells_per_mm_;
  std::vector<std::uint16_t> keys_;
  std::vector<std::uint32_t> order_;
  std::array<std::uint32_t, keys> place_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
