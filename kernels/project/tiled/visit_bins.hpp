// The order of visits, found by counting. A visit's bin is its tile, whether its footprint is wide, and its length: the
// threads of a warp then have visits of one kind and length, and end at the same time. Each block of threads counts the
// visits of its share of the events by bin; sums over blocks and bins say where each block puts its visits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

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
  /// Longest first, and wide ones after the others.
  TOFSTREAM_HOST_DEVICE int bin(int tile, bool wide, int planes) const {
    return (2 * tile + (wide ? 1 : 0)) * lengths + (longest - planes) / planes_a_length;
  }
  /// Planes of a visit in a tile's `local`-th bin, at most.
  TOFSTREAM_HOST_DEVICE int planes_of(int local) const { return longest - local % lengths * planes_a_length; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(count()) * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
           static_cast<std::int64_t>(tiles) * static_cast<std::int64_t>(sizeof(unsigned long long));
  }
};

/// Of events that begin in a tile: their visits, and above 2^32 themselves.
using EventsAndVisits = unsigned long long;
inline constexpr EventsAndVisits one_event = EventsAndVisits{1} << 32;

/// Numbers of visits by bin and of events by first tile.
struct BinCounters {
  std::uint32_t* bins = nullptr;
  EventsAndVisits* tiles = nullptr;
};

/// A row of counters for each block; then, of each column, how many are counted in the rows above, and the bins' and
/// tiles' beginnings.
struct BinTable {
  int rows = 0;
  Buffer<std::uint32_t> bins, bin_begin;
  Buffer<EventsAndVisits> tiles, tile_begin;

  BinTable(const VisitBins& shape, int row_count, Stream stream);
  BinCounters counters() { return {bins.data(), tiles.data()}; }
  BinCounters begins() { return {bin_begin.data(), tile_begin.data()}; }
};

/// From a table of counts: all that Visits says of tiles and items, and the table as its comment says. The tiles' work
/// is cut into items for `blocks` blocks.
void place_visits(const VisitBins& shape, BinTable& table, Visits& made, int blocks, Stream stream);

/// Two numbers of the device's, complete on return.
std::pair<std::uint32_t, std::uint32_t> read_counts(const std::uint32_t* first, const std::uint32_t* second,
                                                    Stream stream);

}  // namespace tofstream::tiled
