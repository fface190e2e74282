// Cuts the paths of events into visits to tiles. A projector brings PathOf, a function of an event and the number of an
// image (Tiling) on the device that returns its Path; see visit_plan.hpp for what becomes of it.
#pragma once

#include <optional>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/math/reciprocal.hpp"
#include "kernels/project/tiled/visit_bins.hpp"

namespace tofstream::tiled {

/// An event's path through the image: voxel coordinates u and v, and the place z along the line, at plane k are
/// u0 + k du and so on. No plane where last < first.
struct Path {
  int axis, first, last;
  double u0, du, v0, dv, z0, dz;
  float scale;        // of its expectation
  bool wide = false;  // its footprint needs more time: such visits of a tile come after the others
  bool whole = true;  // visits can stand for it: nothing but its planes and the footprint limits it
};

namespace detail {

/// A crossing's tile along columns or rows: cells begin at -margin. A crossing that rounding put outside belongs to the
/// nearest tile.
__device__ inline int tile_of(const AxisTiles& axis, int k, double position) {
  const int cell = static_cast<int>(floor(position)) + axis.reach.margin;
  return max(0, min(cell / axis.core[k], axis.tiles[k] - 1));
}

/// The last plane, from `plane` on, whose crossing lies in the tile.
__device__ inline int last_plane_in(const AxisTiles& axis, int k, int tile, double start, double planes_a_step,
                                    int plane, int last) {
  if (axis.tiles[k] == 1 || !(fabs(planes_a_step) < 1e12)) return last;
  const double low = tile * axis.core[k] - axis.reach.margin, high = low + axis.core[k];
  const double leaves =
      planes_a_step > 0 ? ceil((high - start) * planes_a_step) - 1 : floor((low - start) * planes_a_step);
  return leaves >= last ? last : max(plane, static_cast<int>(leaves));
}

/// Calls visit(tiles along planes, columns and rows, first plane, last plane) for each stretch of the path in one tile.
template <class Visit>
__device__ void for_each_visit(const AxisTiles& axis, const Path& path, Visit&& visit) {
  const double planes_a_column = reciprocal(path.du), planes_a_row = reciprocal(path.dv);
  for (int plane = path.first; plane <= path.last;) {
    const int tp = plane / axis.core[0];
    const int tu = tile_of(axis, 1, path.u0 + plane * path.du), tv = tile_of(axis, 2, path.v0 + plane * path.dv);
    int last = min(path.last, (tp + 1) * axis.core[0] - 1);
    last = last_plane_in(axis, 1, tu, path.u0, planes_a_column, plane, last);
    last = last_plane_in(axis, 2, tv, path.v0, planes_a_row, plane, last);
    visit(tp, tu, tv, plane, last);
    plane = last + 1;
  }
}

/// A linear coordinate over `count` planes such that it stays a hair within [0, cells] when evaluated in float: the
/// footprint then needs no check of bounds.
__device__ inline void fit(double start, double step, int count, double cells, float& at_first, float& by_plane) {
  constexpr double hair = 6e-5;
  const double first = fmin(fmax(start, hair), cells - hair);
  const double last = fmin(fmax(start + (count - 1) * step, hair), cells - hair);
  at_first = static_cast<float>(first);
  by_plane = count > 1 ? __fdividef(static_cast<float>(last - first), static_cast<float>(count - 1)) : 0.0f;
}

/// The visit of planes first to last of a path to a tile.
__device__ inline Visit make_visit(const AxisTiles& axis, const Path& path, int tp, int tu, int tv, int first,
                                   int last) {
  const int count = last - first + 1;
  const int begin = axis.begin(0, tp), u_begin = axis.begin(1, tu), v_begin = axis.begin(2, tv);
  Visit visit;
  // The tile's cells, seen from its first stored voxel.
  const double u_low = tu * axis.core[1] - axis.reach.margin, v_low = tv * axis.core[2] - axis.reach.margin;
  if (axis.reach.stores_margin) {
    fit(path.u0 + first * path.du - u_low, path.du, count, axis.core[1], visit.u, visit.du);
    fit(path.v0 + first * path.dv - v_low, path.dv, count, axis.core[2], visit.v, visit.dv);
    visit.u += static_cast<float>(u_low - u_begin);
    visit.v += static_cast<float>(v_low - v_begin);
  } else {
    visit.u = static_cast<float>(path.u0 + first * path.du - u_begin);
    visit.v = static_cast<float>(path.v0 + first * path.dv - v_begin);
    visit.du = static_cast<float>(path.du);
    visit.dv = static_cast<float>(path.dv);
  }
  visit.z = static_cast<float>(path.z0 + first * path.dz);
  visit.dz = static_cast<float>(path.dz);
  visit.planes = static_cast<std::uint32_t>(first - begin) | static_cast<std::uint32_t>(count) << 16;
  return visit;
}

/// Stores a visit whole: a part of a sector would have to be read first.
__device__ inline void store(const Visit& visit, Visit* to) {
  const float4 line{visit.u, visit.v, visit.du, visit.dv};
  const float4 rest{visit.z, visit.dz, __uint_as_float(visit.planes), 0};
  reinterpret_cast<float4*>(to)[0] = line;
  reinterpret_cast<float4*>(to)[1] = rest;
}

/// Calls use(tile, wide, planes, make) for each visit of an event in all images, where make() is the visit. Returns the
/// event's scale; `whole` becomes false where a path is not whole.
template <class PathOf, class Use>
__device__ float for_each_visit_of_event(const Tiling& tiling, const PathOf& path_of, std::int64_t event, bool& whole,
                                         Use&& use) {
  float scale = 0;  // the same in every image
  for (int image = 0; image < tiling.images; ++image) {
    const Path path = path_of(event, image);
    const AxisTiles& axis = tiling.axes[path.axis];
    scale = path.scale;
    whole = whole && path.whole;
    for_each_visit(axis, path, [&](int tp, int tu, int tv, int first, int last) {
      const int tile =
          image * tiling.tiles_an_image() + axis.first_tile + (tv * axis.tiles[1] + tu) * axis.tiles[0] + tp;
      use(tile, path.wide, last - first + 1, [&] { return make_visit(axis, path, tp, tu, tv, first, last); });
    });
  }
  return scale;
}

inline constexpr int plan_threads = 768;

/// A block's counters: in shared memory, or (for very many tiles) those that all blocks have in common.
template <bool shared>
struct BlockCounters {
  BinCounters own;
  __device__ BlockCounters(const VisitBins& shape, const BinCounters& common) : own(common) {
    extern __shared__ EventsAndVisits memory[];
    if constexpr (shared) own = {reinterpret_cast<std::uint32_t*>(memory + shape.tiles), memory};
  }
  /// Calls use(counter of the block, its place in the table) for each, by all threads of the block.
  template <class Use>
  __device__ void for_each(const VisitBins& shape, const BinCounters& table, Use&& use) const {
    if constexpr (!shared) return;
    const BinCounters row{table.bins + static_cast<std::int64_t>(blockIdx.x) * shape.count(),
                          table.tiles + static_cast<std::int64_t>(blockIdx.x) * shape.tiles};
    for (int k = static_cast<int>(threadIdx.x); k < shape.count(); k += plan_threads)
      use(own.bins[k], row.bins[k], k, 0);
    for (int t = static_cast<int>(threadIdx.x); t < shape.tiles; t += plan_threads)
      use(own.tiles[t], row.tiles[t], 0, t);
    __syncthreads();
  }
};

/// The events of a block.
struct EventShare {
  std::int64_t begin, end;
  __device__ explicit EventShare(std::int64_t events)
      : begin(events * blockIdx.x / gridDim.x), end(events * (blockIdx.x + 1) / gridDim.x) {}
};

/// Counts visits by bin, events and visits by the tile of the event's first visit, and each event's visits. An event
/// without a visit begins in tile 0.
template <bool shared, class PathOf>
__global__ void __launch_bounds__(plan_threads, 1)
    count_visits(Tiling tiling, VisitBins shape, PathOf path_of, std::int64_t events, BinCounters table,
                 std::uint16_t* counts, std::uint32_t* cut_paths) {
  const BlockCounters<shared> counters(shape, table);
  counters.for_each(shape, table, [](auto& own, auto&, int, int) { own = 0; });
  const EventShare share(events);
  for (std::int64_t i = share.begin + threadIdx.x; i < share.end; i += plan_threads) {
    unsigned count = 0;
    int first_tile = 0;
    bool whole = true;
    for_each_visit_of_event(tiling, path_of, i, whole, [&](int tile, bool wide, int planes, auto&&) {
      if (count == 0) first_tile = tile;
      atomicAdd(counters.own.bins + shape.bin(tile, wide, planes), 1u);
      ++count;
    });
    atomicAdd(counters.own.tiles + first_tile, one_event + count);
    counts[i] = static_cast<std::uint16_t>(count);
    if (!whole) *cut_paths = 1;  // all that write, write this
  }
  __syncthreads();
  counters.for_each(shape, table, [](auto& own, auto& row, int, int) { row = own; });
}

/// Where emit_visits puts what.
struct EmittedVisits {
  Visit* visits;
  std::uint32_t *place, *first_slot, *event;
  float* scale;
};

template <bool shared, class PathOf>
__global__ void __launch_bounds__(plan_threads, 1)
    emit_visits(Tiling tiling, VisitBins shape, PathOf path_of, std::int64_t events, BinCounters table,
                BinCounters begins, const std::uint16_t* counts, EmittedVisits out) {
  const BlockCounters<shared> next(shape, table);
  next.for_each(shape, table, [&](auto& own, auto& row, int bin, int tile) {
    if constexpr (sizeof own == sizeof(std::uint32_t)) {
      own = begins.bins[bin] + row;
    } else {
      own = begins.tiles[tile] + row;
    }
  });
  const EventShare share(events);
  for (std::int64_t i = share.begin + threadIdx.x; i < share.end; i += plan_threads) {
    const unsigned count = counts[i];
    std::uint32_t rank = 0, slot = 0;
    const auto begin_in = [&](int tile) {
      const EventsAndVisits begin =
          atomicAdd(next.own.tiles + tile, one_event + count) + (shared ? 0 : begins.tiles[tile]);
      rank = static_cast<std::uint32_t>(begin >> 32);
      slot = static_cast<std::uint32_t>(begin);
      out.first_slot[rank] = slot;
    };
    bool whole = true, begun = false;
    const float scale =
        for_each_visit_of_event(tiling, path_of, i, whole, [&](int tile, bool wide, int planes, auto&& make) {
          if (!begun) begin_in(tile);
          begun = true;
          const int bin = shape.bin(tile, wide, planes);
          const std::uint32_t place = atomicAdd(next.own.bins + bin, 1u) + (shared ? 0 : begins.bins[bin]);
          store(make(), out.visits + place);
          out.place[slot++] = place;
        });
    if (!begun) begin_in(0);
    out.scale[rank] = scale;
    out.event[rank] = static_cast<std::uint32_t>(i);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) out.first_slot[events] = begins.bins[shape.count()];
}

template <bool shared, class PathOf>
bool make_visits_with(const VisitBins& shape, const PathOf& path_of, int blocks, Visits& made, Stream stream) {
  const auto bytes = static_cast<std::size_t>(shared ? shape.bytes() : 0);
  const auto launch = [&](auto kernel, const char* name, auto... arguments) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "reserve shared memory for counters");
    kernel<<<static_cast<unsigned>(blocks), plan_threads, bytes, stream>>>(made.tiling, shape, path_of, made.events,
                                                                           arguments...);
    check_launch(name);
  };
  BinTable table(shape, shared ? blocks : 1, stream);
  if (!shared) {
    table.bins.clear(stream);
    table.tiles.clear(stream);
  }
  Buffer<std::uint16_t> counts(Memory::device, made.events, stream);
  auto cut_paths = Buffer<std::uint32_t>::zeros(Memory::device, 1, stream);
  launch(count_visits<shared, PathOf>, "count visits", table.counters(), counts.data(), cut_paths.data());
  place_visits(shape, table, made, blocks, stream);
  made.first_slot = Buffer<std::uint32_t>(Memory::device, made.events + 1, stream);
  made.event = Buffer<std::uint32_t>(Memory::device, made.events, stream);
  made.scale = Buffer<float>(Memory::device, made.events, stream);
  const auto [count, cut] = read_counts(made.tile_begin.data() + shape.tiles, cut_paths.data(), stream);
  if (cut > 0) return false;
  made.visits = Buffer<Visit>(Memory::device, count, stream);
  made.place = Buffer<std::uint32_t>(Memory::device, count, stream);
  launch(emit_visits<shared, PathOf>, "list visits", table.counters(), table.begins(), counts.data(),
         EmittedVisits{made.visits.data(), made.place.data(), made.first_slot.data(), made.event.data(),
                       made.scale.data()});
  return true;
}

}  // namespace detail

/// The visits of `events` events to the tiles; nothing where a path is not whole. `blocks`: how many blocks will work
/// on them, of `shared_bytes` of memory each. Throws OutOfMemory where the GPU's memory is too small for it.
template <class PathOf>
std::optional<Visits> make_visits(const Tiling& tiling, const PathOf& path_of, std::int64_t events, int blocks,
                                  std::int64_t shared_bytes, Stream stream) {
  Visits made;
  made.tiling = tiling;
  made.events = events;
  const auto of_tiles = static_cast<std::int64_t>(tiling.count() * sizeof(EventsAndVisits));
  const auto shape =
      VisitBins::make(tiling, (shared_bytes - of_tiles) / static_cast<std::int64_t>(sizeof(std::uint32_t)));
  const bool whole = shape.bytes() <= shared_bytes
                         ? detail::make_visits_with<true>(shape, path_of, blocks, made, stream)
                         : detail::make_visits_with<false>(shape, path_of, blocks, made, stream);
  if (!whole) return std::nullopt;
  return made;
}

}  // namespace tofstream::tiled
