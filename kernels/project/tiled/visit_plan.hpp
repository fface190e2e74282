// Where the events of a batch meet the tiles of an image: one visit for each tile that an event's path crosses, in the
// order of tiles, so that a block of threads keeps a tile in shared memory while its visits pass. Made once for a batch
// and a projector, used in every pass.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/project/projector.hpp"
#include "kernels/project/tiled/tiling.hpp"
#include "kernels/types/memory.hpp"

namespace tofstream::tiled {

/// A stretch of planes that an event's path crosses in one tile: one 32-byte sector of memory.
struct alignas(32) Visit {
  float u, v;            // column and row of the first plane's crossing, from the tile's first voxel
  float du, dv;          // from plane to plane
  float z, dz;           // place along the line of the first plane's crossing, from the ToF centre, and its step
  std::uint32_t slot;    // where this visit's share of the expectation is kept: visits of an event are neighbours
  std::uint32_t planes;  // first plane from the tile's first, and (times 65536) how many

  TOFSTREAM_HOST_DEVICE int first() const { return static_cast<int>(planes & 0xffffu); }
  TOFSTREAM_HOST_DEVICE int count() const { return static_cast<int>(planes >> 16); }
};

/// Every `parts`-th group of 32 visits of a tile, from group `part` on: what one block does at a time.
struct Item {
  std::uint32_t tile, part, parts, unused;
};

/// What kernels read of a plan.
struct VisitView {
  Tiling tiling;
  std::int64_t events = 0;
  const Visit* visits = nullptr;              // in the order of tiles, longest first
  const std::uint32_t* slots = nullptr;       // of the visits: what they have too, but close together
  const std::uint32_t* tile_begin = nullptr;  // a tile, and the end
  const std::uint32_t* first_slot = nullptr;  // an event, and the end
  const float* scale = nullptr;               // an event: what its expectation is multiplied by
  const Item* items = nullptr;
  const std::uint32_t* item_count = nullptr;
};

/// The visits of a stretch of a batch.
struct Visits {
  Tiling tiling;
  std::int64_t first_event = 0, events = 0;
  Buffer<Visit> visits;
  Buffer<std::uint32_t> slots, tile_begin, first_slot, item_count;
  Buffer<float> scale;
  Buffer<Item> items;

  std::size_t bytes() const {
    return visits.bytes() + slots.bytes() + tile_begin.bytes() + first_slot.bytes() + scale.bytes() + items.bytes();
  }
  VisitView view() const {
    return {tiling,       events,       visits.data(),    slots.data(), tile_begin.data(), first_slot.data(),
            scale.data(), items.data(), item_count.data()};
  }
};

/// Events that are planned and projected at a time, which bounds the memory for it (about 3 GB).
inline constexpr std::int64_t events_at_a_time = std::int64_t{1} << 24;

struct VisitPlan final : EventPlan {
  std::vector<Visits> stretches;
  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (const Visits& visits : stretches) sum += visits.bytes();
    return sum;
  }
};

/// A visit's sort key is 64 - planes in these bits, above them whether its footprint is wide, above that its tile: so
/// that the threads of a warp have visits of one kind and length, and end at the same time.
inline constexpr int length_bits = 6;

/// first[i] = sum of counts before i, for i up to `events` (counts[events] is ignored).
void scan_counts(const std::uint32_t* counts, std::int64_t events, std::uint32_t* first, Stream stream);
/// Two numbers of the device's, complete on return.
std::pair<std::uint32_t, std::uint32_t> read_counts(const std::uint32_t* first, const std::uint32_t* second,
                                                    Stream stream);

/// Completes visits whose tiling, events and first_slot are set: sorts `visits` (given by slot, with `numbers` 0, 1,
/// ...) by their keys, and shares the tiles' work out among `blocks` blocks.
void order_visits(Visits& made, const Buffer<Visit>& visits, Buffer<std::uint32_t>& keys, Buffer<std::uint32_t> numbers,
                  int blocks, Stream stream);

}  // namespace tofstream::tiled
