// Cuts the paths of events into visits to tiles; see visit_plan.hpp for what becomes of them. A projector brings
// PathOf:
//   Path operator()(std::int64_t event, int image) const;   image: of the Tiling
//   void prefetch(std::int64_t event) const;                calls for what an event's path is made of
//
// Two kernels compute each path, one to count its visits and one to list them, and must agree to the last bit: many
// lines of a scanner run exactly along the wall of a tile. Files that include this are therefore compiled without
// contracting multiplications and additions (-fmad=false, kernels/CMakeLists.txt), which the compiler might do
// differently in each kernel.
#pragma once

#include <optional>

#include "kernels/cuda/check.hpp"
#include "kernels/math/reciprocal.hpp"
#include "kernels/math/whole.hpp"
#include "kernels/project/tiled/visit_bins.hpp"

namespace tofstream::tiled {

/// An event's path through the image: voxel coordinates u and v, and the place z along the line, at plane k are
/// u0 + k du and so on. No plane where last < first.
struct Path {
  int axis, first, last;
  double u0, du, v0, dv, z0, dz;
  float scale;        // of its expectation
  bool wide = false;  // its footprint needs more time: such visits of a tile come first
  bool whole = true;  // visits can stand for it: nothing but its planes and the footprint limits it
};

/// Voxels that crossings keep from the walls of a tile that stores its margin.
inline constexpr float hair = 6e-5f;

namespace detail {

/// n / axis.core[k], rounded down, for 0 <= n < 2^21.
__device__ inline int tile_of_cell(const AxisTiles& axis, int k, int n) {
  const float place = (static_cast<float>(n) + 0.5f) * axis.per_core[k];
  return whole_of(raised_below(place));
}

/// A crossing's tile along columns or rows: cells begin at -margin. A crossing that rounding put outside belongs to the
/// nearest tile.
__device__ inline int tile_of(const AxisTiles& axis, int k, double position) {
  if (axis.tiles[k] == 1) return 0;
  return min(tile_of_cell(axis, k, max(0, whole_below(position) + axis.reach.margin)), axis.tiles[k] - 1);
}

/// The last plane, from `plane` on, whose crossing lies in the tile.
__device__ inline int last_plane_in(const AxisTiles& axis, int k, int tile, double start, double planes_a_step,
                                    int plane, int last) {
  if (axis.tiles[k] == 1 || !(fabs(planes_a_step) < 1e12)) return last;
  const int low = tile * axis.core[k] - axis.reach.margin;
  const bool upwards = planes_a_step > 0;
  const double leaves = fmin((as_double(upwards ? low + axis.core[k] : low) - start) * planes_a_step, 1e9);
  return min(last, max(plane, upwards ? whole_above(leaves) - 1 : whole_below(leaves)));
}

inline constexpr unsigned whole_warp = 0xffffffffu;

/// Calls visit(tiles along planes, columns and rows, first plane, last plane) for each stretch of the path in one tile.
/// `together`: the lanes of a warp go in step, as far as the longest needs, and call step() after each of them.
template <bool together, class Visit, class Step>
__device__ void for_each_visit(const AxisTiles& axis, const Path& path, Visit&& visit, Step&& step) {
  const double planes_a_column = reciprocal(path.du), planes_a_row = reciprocal(path.dv);
  for (int plane = path.first; together ? __any_sync(whole_warp, plane <= path.last) : plane <= path.last; step()) {
    if (together && plane > path.last) continue;
    const double at = as_double(plane);
    const int tp = tile_of_cell(axis, 0, plane);
    const int tu = tile_of(axis, 1, path.u0 + at * path.du), tv = tile_of(axis, 2, path.v0 + at * path.dv);
    int last = min(path.last, (tp + 1) * axis.core[0] - 1);
    last = last_plane_in(axis, 1, tu, path.u0, planes_a_column, plane, last);
    last = last_plane_in(axis, 2, tv, path.v0, planes_a_row, plane, last);
    visit(tp, tu, tv, plane, last);
    plane = last + 1;
  }
}

/// A linear coordinate over `count` planes such that it stays a hair within [0, cells]: the footprint then needs no
/// check of bounds.
__device__ inline void fit(float start, float step, int count, int cells, float& at_first, float& by_plane) {
  const float most = static_cast<float>(cells) - hair, steps = static_cast<float>(count - 1);
  const float last = fminf(fmaxf(fmaf(steps, step, start), hair), most);
  at_first = fminf(fmaxf(start, hair), most);
  by_plane = count > 1 ? __fdividef(last - at_first, steps) : 0.0f;
}

/// The visit of a path to a tile, from plane `first` to plane `last`.
__device__ inline Visit make_visit(const AxisTiles& axis, const Path& path, int tp, int tu, int tv, int first,
                                   int last) {
  const int count = last - first + 1;
  const int begin = axis.begin(0, tp), u_begin = axis.begin(1, tu), v_begin = axis.begin(2, tv);
  const double at = as_double(first);
  const auto from = [&](double start, double step, int voxel) {
    return static_cast<float>(start + at * step - as_double(voxel));
  };
  Visit visit;
  visit.du = static_cast<float>(path.du);
  visit.dv = static_cast<float>(path.dv);
  if (axis.reach.stores_margin) {
    // Within the tile's cells, then seen from its first stored voxel.
    const int u_low = tu * axis.core[1] - axis.reach.margin, v_low = tv * axis.core[2] - axis.reach.margin;
    fit(from(path.u0, path.du, u_low), visit.du, count, axis.core[1], visit.u, visit.du);
    fit(from(path.v0, path.dv, v_low), visit.dv, count, axis.core[2], visit.v, visit.dv);
    visit.u += static_cast<float>(u_low - u_begin);
    visit.v += static_cast<float>(v_low - v_begin);
  } else {
    visit.u = from(path.u0, path.du, u_begin);
    visit.v = from(path.v0, path.dv, v_begin);
  }
  visit.z = static_cast<float>(path.z0 + at * path.dz);
  visit.dz = static_cast<float>(path.dz);
  visit.planes = static_cast<std::uint32_t>(first - begin) | static_cast<std::uint32_t>(count) << 16;
  return visit;
}

inline constexpr std::uint32_t nowhere = 0xffffffffu;

/// Stores the visits of a warp's lanes, each to its place or nowhere. Two neighbours store the two halves of one visit,
/// then those of the other: they write whole sectors, where a lane that stored its own visit would write half a sector
/// at a time.
__device__ inline void store_together(const Visit& visit, std::uint32_t place, Visit* visits) {
  const bool odd = threadIdx.x % 2 == 1;
  const float4 line{visit.u, visit.v, visit.du, visit.dv};
  const float4 rest{visit.z, visit.dz, __uint_as_float(visit.planes), __uint_as_float(visit.slot)};
  const float4 given = odd ? line : rest;
  const auto swapped = [](auto value) { return __shfl_xor_sync(whole_warp, value, 1); };
  const float4 got{swapped(given.x), swapped(given.y), swapped(given.z), swapped(given.w)};
  const std::uint32_t others = swapped(place), even_place = odd ? others : place, odd_place = odd ? place : others;
  auto* halves = reinterpret_cast<float4*>(visits);
  if (even_place != nowhere) halves[2 * std::size_t{even_place} + (odd ? 1 : 0)] = odd ? got : line;
  if (odd_place != nowhere) halves[2 * std::size_t{odd_place} + (odd ? 1 : 0)] = odd ? rest : got;
}

/// Calls use(tile, wide, planes, make) for each visit of an event in all images, where make() is the visit; and step()
/// after each, `together` by all lanes of the warp. Returns the event's scale; `whole` becomes false where a path is
/// not whole: the event is then left to the direct path. A lane without an event (-1) has no visits.
template <bool together, class PathOf, class Use, class Step>
__device__ float for_each_visit_of_event(const Tiling& tiling, const PathOf& path_of, std::int64_t event, bool& whole,
                                         Use&& use, Step&& step) {
  float scale = 0;  // the same in every image
  for (int image = 0; image < tiling.images; ++image) {
    const Path path = event >= 0 ? path_of(event, image) : Path{.axis = 0, .first = 0, .last = -1};
    const AxisTiles& axis = tiling.axes[path.axis];
    scale = path.scale;
    whole = whole && path.whole;
    const auto visit = [&](int tp, int tu, int tv, int first, int last) {
      const int tile =
          image * tiling.tiles_an_image() + axis.first_tile + (tv * axis.tiles[1] + tu) * axis.tiles[0] + tp;
      use(tile, path.wide, last - first + 1, [&] { return make_visit(axis, path, tp, tu, tv, first, last); });
    };
    for_each_visit<together>(axis, path, visit, step);
  }
  return scale;
}

inline constexpr int plan_threads = 768;

/// A bit above an event's number of visits: one of the event's paths is not whole.
inline constexpr unsigned cut_event = 0x8000;

/// A block's counters in shared memory. Calls use(counter, column) for each, by all threads of the block.
template <class Use>
__device__ std::uint32_t* shared_counters(const VisitBins& shape, Use&& use) {
  extern __shared__ std::uint32_t counters[];
  for (int k = static_cast<int>(threadIdx.x); k < shape.counters(); k += plan_threads) use(counters[k], k);
  __syncthreads();
  return counters;
}

/// Calls use(event), or use(-1) for a lane without one, for the block's share of the events: by all lanes of a warp
/// together.
template <class PathOf, class Use>
__device__ void for_each_event_of_block(const PathOf& path_of, std::int64_t events, Use&& use) {
  const std::int64_t begin = events * blockIdx.x / gridDim.x, end = events * (blockIdx.x + 1) / gridDim.x;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t first = begin + threadIdx.x - lane; first < end; first += plan_threads) {
    const std::int64_t event = first + lane;
    if (event + plan_threads < end) path_of.prefetch(event + plan_threads);
    use(event < end ? event : -1);
  }
}

/// Counts visits by bin, events and visits by the tile of the event's first visit, and each event's visits. An event
/// without a visit begins in tile 0. An event with a path that is not whole has visits like others, since it may be its
/// last: they will have no value. `shared`: a block counts in shared memory, for a row of its own; else
/// (very many tiles) all blocks count in the only row.
template <bool shared, class PathOf>
__global__ void __launch_bounds__(plan_threads, 1)
    count_visits(Tiling tiling, VisitBins shape, PathOf path_of, std::int64_t events, std::uint32_t* rows,
                 std::uint16_t* visits_of_event, Found* found) {
  std::uint32_t* counters = rows;
  if constexpr (shared) counters = shared_counters(shape, [](std::uint32_t& own, int) { own = 0; });
  for_each_event_of_block(path_of, events, [&](std::int64_t i) {
    unsigned count = 0;
    int first_tile = 0;
    bool whole = true;
    const auto use = [&](int tile, bool wide, int planes, auto&&) {
      if (count == 0) first_tile = tile;
      atomicAdd(counters + shape.bin(tile, wide, planes), 1u);
      ++count;
    };
    for_each_visit_of_event<false>(tiling, path_of, i, whole, use, [] {});
    if (i < 0) return;
    atomicAdd(counters + shape.events_of(first_tile), 1u);
    atomicAdd(counters + shape.visits_of(first_tile), count);
    visits_of_event[i] = static_cast<std::uint16_t>(whole ? count : count | cut_event);
    if (!whole) atomicAdd(&found->cut_paths, 1u);
  });
  __syncthreads();
  if constexpr (!shared) return;
  std::uint32_t* row = rows + static_cast<std::int64_t>(blockIdx.x) * shape.counters();
  shared_counters(shape, [&](std::uint32_t own, int column) { row[column] = own; });
}

/// Puts visits in their places, and events in their ranks; lists the events that have a path that is not whole.
/// `shared`: a block has places of its own, else all blocks take the next ones from `begins`.
template <bool shared, class PathOf>
__global__ void __launch_bounds__(plan_threads, 1)
    emit_visits(Tiling tiling, VisitBins shape, PathOf path_of, std::int64_t events, const std::uint32_t* rows,
                std::uint32_t* begins, const std::uint16_t* visits_of_event, Visit* visits, RankedEvent* ranked,
                std::uint32_t* cut, Found* found) {
  std::uint32_t* next = begins;
  if constexpr (shared) {
    const std::uint32_t* row = rows + static_cast<std::int64_t>(blockIdx.x) * shape.counters();
    next = shared_counters(shape, [&](std::uint32_t& own, int column) { own = begins[column] + row[column]; });
  }
  for_each_event_of_block(path_of, events, [&](std::int64_t i) {
    const unsigned noted = i >= 0 ? visits_of_event[i] : 0, count = noted & ~cut_event;
    std::uint32_t rank = 0, slot = 0, place = nowhere;
    Visit visit;
    const auto begin_in = [&](int tile) {
      rank = atomicAdd(next + shape.events_of(tile), 1u);
      slot = atomicAdd(next + shape.visits_of(tile), count);
    };
    bool whole = true, begun = false;
    const auto use = [&](int tile, bool wide, int planes, auto&& make) {
      place = atomicAdd(next + shape.bin(tile, wide, planes), 1u);
      if (!begun) begin_in(tile);
      begun = true;
      visit = make();
      visit.slot = slot++;
    };
    const auto step = [&] {
      store_together(visit, place, visits);
      place = nowhere;
    };
    const float scale = for_each_visit_of_event<true>(tiling, path_of, i, whole, use, step);
    if (i < 0) return;
    if (!begun) begin_in(0);
    auto number = static_cast<std::uint32_t>(i);
    if (noted != count) {
      cut[atomicAdd(&found->cut_listed, 1u)] = number;
      number = no_event;
    }
    const uint4 whole_event{slot - count, count, number, __float_as_uint(scale)};
    reinterpret_cast<uint4*>(ranked)[rank] = whole_event;
  });
}

}  // namespace detail

/// The visits of `events` events to the tiles; nothing where too many events have to be left out because a path of
/// theirs is not whole. Throws OutOfMemory where the GPU has too little memory.
template <class PathOf>
std::optional<Visits> make_visits(const Tiling& tiling, const PathOf& path_of, std::int64_t events, PlanSpace& space,
                                  Stream stream) {
  Visits made;
  made.tiling = tiling;
  made.events = events;
  const auto shape = VisitBins::make(
      tiling, space.shared_bytes / static_cast<std::int64_t>(sizeof(std::uint32_t)) - 2 * tiling.count());
  const bool shared = shape.bytes() <= space.shared_bytes;
  const auto launch = [&](auto kernel, const char* name, auto... arguments) {
    const auto bytes = static_cast<std::size_t>(shared ? shape.bytes() : 0);
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "reserve shared memory for counters");
    kernel<<<static_cast<unsigned>(space.blocks), detail::plan_threads, bytes, stream>>>(tiling, shape, path_of, events,
                                                                                         arguments...);
    check_launch(name);
  };
  space.fit(shape, shared ? space.blocks : 1, events, stream);
  launch(shared ? detail::count_visits<true, PathOf> : detail::count_visits<false, PathOf>, "count visits",
         space.counts.data(), space.visits_of_event.data(), space.found.data());
  place_visits(shape, space, made, stream);
  made.ranked = Buffer<RankedEvent>(Memory::device, events, stream);
  const Found found = space.found.to_vector(stream).front();
  if (found.cut_paths > PlanSpace::most_cut(events)) return std::nullopt;
  made.cut = Buffer<std::uint32_t>(Memory::device, found.cut_paths, stream);
  made.visits = Buffer<Visit>(Memory::device, found.visits, stream);
  launch(shared ? detail::emit_visits<true, PathOf> : detail::emit_visits<false, PathOf>, "list visits",
         space.counts.data(), space.begins.data(), space.visits_of_event.data(), made.visits.data(), made.ranked.data(),
         made.cut.data(), space.found.data());
  return made;
}

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
