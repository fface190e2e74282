// Where the events of a batch meet the tiles of an image: one visit for each tile that an event's path crosses, in the
// order of tiles, so that a block of threads keeps a tile in shared memory while its visits pass. Made once for a batch
// and a projector, used in every pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/memory/memory.hpp"
#include "kernels/project/cuda_path.hpp"
#include "kernels/project/list_mode_projector.hpp"
#include "kernels/project/tiled/tiling.hpp"

namespace tofstream::tiled {

/// A stretch of planes that an event's path crosses in one tile: one 32-byte sector of memory.
struct alignas(32) Visit {
  float u, v;            // column and row of the first plane's crossing, from the tile's first voxel
  float du, dv;          // from plane to plane
  float z, dz;           // place along the line of the first plane's crossing, from the ToF centre, and its step
  std::uint32_t planes;  // first plane from the tile's first, and (times 65536) how many
  std::uint32_t slot;    // what belongs to it in its event's order

  TOFSTREAM_HOST_DEVICE int first() const { return static_cast<int>(planes & 0xffffu); }
  TOFSTREAM_HOST_DEVICE int count() const { return static_cast<int>(planes >> 16); }
};

/// Every `parts`-th group of 32 visits of a tile, from group `part` on: what one block does at a time.
struct Item {
  std::uint32_t tile, part, parts, unused;
};

/// Stands for the number of an event that the tiles leave to the direct path.
inline constexpr std::uint32_t no_event = 0xffffffffu;

/// An event, ranked by the tile of its first visit: neighbours by rank then touch memory that lies close together,
/// whatever the order in which the events came. The visits of an event are neighbouring slots.
struct alignas(16) RankedEvent {
  std::uint32_t first_slot, visits;
  std::uint32_t event;  // its number in the stretch, or no_event: its visits count for nothing
  float scale;          // what its expectation is multiplied by
};

/// What a back projection of values reads of a visit: it adds its event's value times this scale.
struct alignas(8) VisitEvent {
  std::uint32_t event;  // as in RankedEvent
  float scale;
};

/// What kernels read of a plan.
struct VisitView {
  Tiling tiling;
  std::int64_t events = 0;
  const Visit* visits = nullptr;              // in the order of tiles, longest first
  const std::uint32_t* tile_begin = nullptr;  // a tile, and the end: its first visit
  const std::uint32_t* tile_parts = nullptr;  // a tile: the items that share it
  const RankedEvent* ranked = nullptr;
  const Item* items = nullptr;
  const std::uint32_t* item_count = nullptr;
};

/// The visits of a stretch of a batch.
struct Visits {
  Tiling tiling;
  std::int64_t first_event = 0, events = 0;
  Buffer<Visit> visits;
  Buffer<RankedEvent> ranked;
  Buffer<std::uint32_t> tile_begin, tile_parts, item_count;
  Buffer<Item> items;
  Buffer<std::uint32_t> cut;  // numbers of the events that are left to the direct path, in any order
  // The visits' events, listed by the first back projection of values: each then reads its values in the order of
  // visits at once, and a quarter of what it would read from the visits.
  mutable Buffer<VisitEvent> visit_events;

  std::size_t bytes() const {
    return visits.bytes() + ranked.bytes() + tile_begin.bytes() + tile_parts.bytes() + items.bytes() + cut.bytes() +
           visit_events.bytes();
  }
  VisitView view() const {
    return {tiling,        events,       visits.data(),    tile_begin.data(), tile_parts.data(),
            ranked.data(), items.data(), item_count.data()};
  }
};

/// Most events that are planned and projected at a time, which bounds the memory for it (about 3 GB).
inline constexpr std::int64_t most_at_a_time = std::int64_t{1} << 24;

/// Whether a plan pays off that serves a single back projection.
inline bool pays_for_one_use(CudaPath path, bool deterministic, std::int64_t lines) {
  constexpr std::int64_t fewest = 100'000;
  return deterministic || path == CudaPath::tiled || (path == CudaPath::automatic && lines >= fewest);
}

struct VisitPlan final : ProjectionPlan {
  std::vector<Visits> stretches;
  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (const Visits& visits : stretches) sum += visits.bytes();
    return sum;
  }
};

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
