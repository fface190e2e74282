// The order of visits, found by counting. A visit's bin is its tile, whether its footprint is wide, and its length: the
// threads of a warp then have visits of one kind and length, and end at the same time. Each block of threads counts the
// visits of its share of the events by bin in shared memory; sums over blocks and bins say where each block puts its
// visits of each bin.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

struct VisitBins {
  int tiles = 0;
  int longest = 1;          // planes of a visit
  int planes_a_length = 1;  // visits whose numbers of planes differ by less may share a bin
  int lengths = 1;

  /// Bins for the tiles: a length for each number of planes, or fewer lengths so as to have at most `most` bins.
  static VisitBins make(const Tiling& tiling, std::int64_t most) {
    VisitBins bins{.tiles = tiling.count()};
    for (const AxisTiles& axis : tiling.axes) bins.longest = std::max(bins.longest, axis.core[0]);
    const auto wanted = static_cast<int>(std::clamp<std::int64_t>(most / (2 * bins.tiles), 1, bins.longest));
    bins.planes_a_length = (bins.longest + wanted - 1) / wanted;
    bins.lengths = (bins.longest + bins.planes_a_length - 1) / bins.planes_a_length;
    return bins;
  }
  TOFSTREAM_HOST_DEVICE int a_tile() const { return 2 * lengths; }
  TOFSTREAM_HOST_DEVICE int count() const { return tiles * a_tile(); }
  /// Longest first, wide ones before the others, so that the slowest visits do not come last.
  TOFSTREAM_HOST_DEVICE int bin(int tile, bool wide, int planes) const {
    return (2 * tile + (wide ? 0 : 1)) * lengths + (longest - planes) / planes_a_length;
  }
  /// Planes of a visit in a tile's `local`-th bin, at most.
  TOFSTREAM_HOST_DEVICE int planes_of(int local) const { return longest - local % lengths * planes_a_length; }
  /// Counters of a block: visits by bin, then events that begin in a tile, then the visits of these.
  TOFSTREAM_HOST_DEVICE int counters() const { return count() + 2 * tiles; }
  TOFSTREAM_HOST_DEVICE int events_of(int tile) const { return count() + tile; }
  TOFSTREAM_HOST_DEVICE int visits_of(int tile) const { return count() + tiles + tile; }
  std::int64_t bytes() const { return counters() * static_cast<std::int64_t>(sizeof(std::uint32_t)); }
};

/// What the host has to know after a count.
struct Found {
  std::uint32_t visits;
  std::uint32_t cut_paths;   // events with a path that is not whole
  std::uint32_t cut_listed;  // of them, so many are listed by now
};

/// What the making of plans needs on the current CUDA device, kept from plan to plan.
struct PlanSpace {
  int blocks = 0;                 // that work on a plan, one a multiprocessor
  std::int64_t shared_bytes = 0;  // of memory that each has

  int rows = 0;
  Buffer<std::uint32_t> counts;  // rows of counters; then, of each column, how many are counted in the rows above
  Buffer<std::uint32_t> begins;  // of a column: where it begins among those of its kind
  Buffer<std::uint16_t> visits_of_event;  // with cut_event where a path is not whole
  Buffer<unsigned long long> tile_work;
  Buffer<Found> found;

  /// How many events of a stretch may have a path that is not whole: where they are more than a quarter, the direct
  /// path takes all.
  static std::int64_t most_cut(std::int64_t events) { return events / 4; }
  /// Makes room for this many rows of counters (a single row is zeroed) and this many events.
  void fit(const VisitBins& shape, int row_count, std::int64_t events, Stream stream);
};

/// Turns rows of counts into the tiles and items of `made`, and fills the counts and begins of `space`.
void place_visits(const VisitBins& shape, PlanSpace& space, Visits& made, Stream stream);

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
