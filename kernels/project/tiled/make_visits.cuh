// Cuts the paths of events into visits to tiles. A projector brings PathOf, a function of an event and the number of an
// image (Tiling) on the device that returns its Path; see visit_plan.hpp for what becomes of it.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/math/reciprocal.hpp"
#include "kernels/project/tiled/visit_plan.hpp"

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

template <class PathOf>
__global__ void count_visits(Tiling tiling, PathOf path_of, std::int64_t events, std::uint32_t* counts, float* scale,
                             std::uint32_t* cut_paths) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i > events) return;
  std::uint32_t count = 0;
  if (i < events) {
    for (int image = 0; image < tiling.images; ++image) {
      const Path path = path_of(i, image);
      for_each_visit(tiling.axes[path.axis], path, [&](int, int, int, int, int) { ++count; });
      scale[i] = path.scale;            // the same in every image
      if (!path.whole) *cut_paths = 1;  // all that write, write this
    }
  }
  counts[i] = count;
}

__device__ inline void emit_path(const Tiling& tiling, const Path& path, int image, std::uint32_t& slot, Visit* visits,
                                 std::uint32_t* keys, std::uint32_t* numbers) {
  const AxisTiles& axis = tiling.axes[path.axis];
  for_each_visit(axis, path, [&](int tp, int tu, int tv, int first, int last) {
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
    visit.slot = slot;
    visit.planes = static_cast<std::uint32_t>(first - begin) | static_cast<std::uint32_t>(count) << 16;
    visits[slot] = visit;
    const int tile = image * tiling.tiles_an_image() + axis.first_tile + (tv * axis.tiles[1] + tu) * axis.tiles[0] + tp;
    const auto kind = static_cast<std::uint32_t>(2 * tile + (path.wide ? 1 : 0));
    keys[slot] = kind << length_bits | static_cast<std::uint32_t>(max_planes - count);
    numbers[slot] = slot;
    ++slot;
  });
}

template <class PathOf>
__global__ void emit_visits(Tiling tiling, PathOf path_of, std::int64_t events, const std::uint32_t* first_slot,
                            Visit* visits, std::uint32_t* keys, std::uint32_t* numbers) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= events) return;
  std::uint32_t slot = first_slot[i];
  for (int image = 0; image < tiling.images; ++image)
    emit_path(tiling, path_of(i, image), image, slot, visits, keys, numbers);
}

}  // namespace detail

/// The visits of `events` events to the tiles; nothing where a path is not whole. `blocks`: how many blocks will work
/// on them. Throws std::runtime_error where the GPU's memory is too small for it.
template <class PathOf>
std::optional<Visits> make_visits(const Tiling& tiling, const PathOf& path_of, std::int64_t events, int blocks,
                                  Stream stream) {
  constexpr int threads = 128;
  const auto grid = static_cast<unsigned>((events + threads) / threads);  // one event more than there are
  Visits made;
  made.tiling = tiling;
  made.events = events;
  made.scale = Buffer<float>(Memory::device, events, stream);
  made.first_slot = Buffer<std::uint32_t>(Memory::device, events + 1, stream);
  Buffer<std::uint32_t> counts(Memory::device, events + 1, stream);
  auto cut_paths = Buffer<std::uint32_t>::zeros(Memory::device, 1, stream);
  detail::count_visits<<<grid, threads, 0, stream>>>(tiling, path_of, events, counts.data(), made.scale.data(),
                                                     cut_paths.data());
  check_launch("count visits");
  scan_counts(counts.data(), events, made.first_slot.data(), stream);
  const auto [count, cut] = read_counts(made.first_slot.data() + events, cut_paths.data(), stream);
  if (cut > 0) return std::nullopt;
  if (count == 0) return made;  // no line meets the image
  Buffer<Visit> visits(Memory::device, count, stream);
  Buffer<std::uint32_t> keys(Memory::device, count, stream), numbers(Memory::device, count, stream);
  detail::emit_visits<<<grid, threads, 0, stream>>>(tiling, path_of, events, made.first_slot.data(), visits.data(),
                                                    keys.data(), numbers.data());
  check_launch("list visits");
  order_visits(made, visits, keys, std::move(numbers), blocks, stream);
  return made;
}

/// Calls visit(events of a stretch, its first event) for each stretch of a batch, while it returns true.
template <class Visit>
bool for_each_stretch(const EventView& events, Visit&& visit) {
  const std::int64_t stretches = std::max<std::int64_t>((events.count + events_at_a_time - 1) / events_at_a_time, 1);
  for (std::int64_t k = 0; k < stretches; ++k) {
    const std::int64_t begin = events.count * k / stretches, end = events.count * (k + 1) / stretches;
    if (!visit(events.slice(begin, end - begin), begin)) return false;
  }
  return true;
}

}  // namespace tofstream::tiled
