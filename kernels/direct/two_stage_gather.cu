// Sums of columns across z: see two_stage_gather.cuh. A block of threads has a tile of groups, and puts the columns
// that these read into shared memory, since each is read by several groups; a thread has four rows of a group, or
// eight.
#include <algorithm>

#include <cuda_pipeline.h>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_gather.cuh"
#include "kernels/direct/two_stage_lines.cuh"

namespace tofstream::two_stage {

namespace {

constexpr int most_fours = 16, of_tile = TargetGroups::of_tile;
// An error of rounding grows with the root of the terms of a sum: longer lists are added up in parts.
constexpr int entries_of_part = 64;

/// Fours of rows that a thread has: two halve what it reads of weights, and where eight lanes share a column they use
/// all banks.
constexpr int fours_a_thread(int fours) {
  return fours == most_fours ? 2 : 1;
}

__device__ void add_weighted(float4& sum, float weight, float4 value) {
  sum.x += weight * value.x;
  sum.y += weight * value.y;
  sum.z += weight * value.z;
  sum.w += weight * value.w;
}

/// Adds entries [first, end), whole fours, of values that `read` gives.
template <int mine, class Read>
__device__ void add_entries(const float4* weights, const std::uint16_t* sources, int first, int end, const Read& read,
                            float4 (&sum)[4][mine]) {
#pragma unroll 1
  for (int e = first; e < end; e += 4) {
    const ushort4 four = *reinterpret_cast<const ushort4*>(sources + e);
    const int source[4] = {four.x, four.y, four.z, four.w};
    float4 value[4][mine];
#pragma unroll
    for (int a = 0; a < 4; ++a) read(source[a], value[a]);
#pragma unroll
    for (int a = 0; a < 4; ++a) {
      const float4 weight = weights[e + a];
#pragma unroll
      for (int half = 0; half < mine; ++half) {
        add_weighted(sum[0][half], weight.x, value[a][half]);
        add_weighted(sum[1][half], weight.y, value[a][half]);
        add_weighted(sum[2][half], weight.z, value[a][half]);
        add_weighted(sum[3][half], weight.w, value[a][half]);
      }
    }
  }
}

/// The same in parts where some thread adds up more than a part's entries.
template <bool in_parts, int mine, class Read>
__device__ void add_list(const float4* weights, const std::uint16_t* sources, int begin, int end, const Read& read,
                         float4 (&sum)[4][mine]) {
  const int step = in_parts ? entries_of_part : end - begin;
  for (int first = begin; first < end; first += step) {
    if (!in_parts) {
      add_entries(weights, sources, first, end, read, sum);
      continue;
    }
    float4 part[4][mine] = {};
    add_entries(weights, sources, first, min(first + entries_of_part, end), read, part);
#pragma unroll
    for (int t = 0; t < 4; ++t)
#pragma unroll
      for (int half = 0; half < mine; ++half) add_weighted(sum[t][half], 1, part[t][half]);
  }
}

/// What a block has in shared memory of one view: a tile's columns, its groups' lists, and which columns these are, of
/// this view and the next.
struct StagedTile {
  float4* values;
  float4* weights;
  std::uint16_t* sources;
  std::int32_t *numbers, *next_numbers;

  static std::size_t bytes(int most_of_tile, int most_columns, int fours) {
    return static_cast<std::size_t>(most_columns) *
               (sizeof(float4) * static_cast<std::size_t>(fours) + 2 * sizeof(std::int32_t)) +
           static_cast<std::size_t>(most_of_tile) * (sizeof(float4) + sizeof(std::uint16_t));
  }
  __device__ StagedTile(float4* memory, const GatherLists& lists, int fours) : values(memory) {
    weights = values + lists.most_columns * fours;
    numbers = reinterpret_cast<std::int32_t*>(weights + lists.most_of_tile);
    next_numbers = numbers + lists.most_columns;
    sources = reinterpret_cast<std::uint16_t*>(next_numbers + lists.most_columns);
  }
  static __device__ void copy_numbers(const GatherLists& lists, int slot, int place, int tiles, int tile,
                                      std::int32_t* into) {
    const auto* const from = reinterpret_cast<const int4*>(lists.columns_of(slot, place, tiles, tile));
    auto* const to = reinterpret_cast<int4*>(into);
    for (int n = static_cast<int>(threadIdx.x); n < lists.most_columns / 4; n += static_cast<int>(blockDim.x))
      __pipeline_memcpy_async(to + n, from + n, sizeof(int4));
  }
  __device__ void copy_lists(const GatherLists& lists, std::int64_t first, int entries) const {
    for (int e = static_cast<int>(threadIdx.x); e < entries; e += static_cast<int>(blockDim.x))
      __pipeline_memcpy_async(weights + e, lists.weights + first + e, sizeof(float4));
    const auto* const from = reinterpret_cast<const uint2*>(lists.sources + first);
    auto* const to = reinterpret_cast<uint2*>(sources);
    for (int n = static_cast<int>(threadIdx.x); n < entries / 4; n += static_cast<int>(blockDim.x))
      __pipeline_memcpy_async(to + n, from + n, sizeof(uint2));
  }
  /// `here` of a column's fours, from columns of `quads`.
  __device__ void copy_columns(const float4* from, int quads, int count, int fours, int here) const {
    const int four = static_cast<int>(threadIdx.x) % fours, step = static_cast<int>(blockDim.x) / fours;
    if (four >= here) return;
#pragma unroll 4
    for (int c = static_cast<int>(threadIdx.x) / fours; c < count; c += step)
      __pipeline_memcpy_async(values + c * fours + four, from + std::int64_t{numbers[c]} * quads + four,
                              sizeof(float4));
  }
};

template <int mine, bool staged, bool in_parts>
__global__ void __launch_bounds__(of_tile* most_fours / mine, mine == 1 ? 3 : 4)
    gather(StageViews views, GatherLists lists, TargetGroups groups, int quads, int fours, GatheredColumns columns,
           bool adds) {
  extern __shared__ float4 tile_memory[];
  const int tile = static_cast<int>(blockIdx.x), first_slot = static_cast<int>(blockIdx.y), tiles = groups.tiles();
  const int first_four = static_cast<int>(blockIdx.z) * fours, here = min(fours, quads - first_four);
  const int lanes = fours / mine, lane = static_cast<int>(threadIdx.x) % lanes;
  const int group = tile * of_tile + static_cast<int>(threadIdx.x) / lanes;
  StagedTile of(tile_memory, lists, fours);
  // Lists that are kept are there before the kernels before this one end, as the views are.
  if (!lists.are_kept()) chain::wait_for_those_before();
  if (staged && first_slot < views.count)
    of.copy_numbers(lists, first_slot, views.index[first_slot], tiles, tile, of.numbers);
  float4 sum[4][mine] = {};
  for (int slot = first_slot; slot < views.count; slot += static_cast<int>(gridDim.y)) {
    const int place = views.index[slot];
    const std::int32_t* const begins = lists.begins + std::int64_t{place} * (groups.count() + 1);
    const int first = begins[tile * of_tile], end = begins[(tile + 1) * of_tile];
    const std::int64_t of_place = lists.first(slot, place);
    const auto* const from = reinterpret_cast<const float4*>(columns.from + slot * columns.from_slot) + first_four;
    if (staged) {
      const int count = lists.column_counts[std::int64_t{place} * tiles + tile];
      of.copy_lists(lists, of_place + first, end - first);
      if (slot == first_slot) {
        __pipeline_commit();
        __pipeline_wait_prior(0);  // the numbers
        __syncthreads();
        if (lists.are_kept()) chain::wait_for_those_before();
      }
      of.copy_columns(from, quads, count, fours, here);
      const int next = slot + static_cast<int>(gridDim.y);
      if (next < views.count) of.copy_numbers(lists, next, views.index[next], tiles, tile, of.next_numbers);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncthreads();
      const float4* const values = of.values + lane;
      add_list<in_parts>(
          of.weights - first, of.sources - first, begins[group], begins[group + 1],
          [&](int source, float4(&value)[mine]) {
#pragma unroll
            for (int half = 0; half < mine; ++half) value[half] = values[source * fours + half * lanes];
          },
          sum);
      if (next >= views.count) break;
      __syncthreads();  // the next view's come
      std::int32_t* const read = of.numbers;
      of.numbers = of.next_numbers;
      of.next_numbers = read;
    } else {
      if (slot == first_slot && lists.are_kept()) chain::wait_for_those_before();
      const std::int32_t* const numbers = lists.columns_of(slot, place, tiles, tile);
      add_list<true>(
          lists.weights + of_place, lists.sources + of_place, begins[group], begins[group + 1],
          [&](int source, float4(&value)[mine]) {
            const float4* const column = from + std::int64_t{numbers[source]} * quads;
#pragma unroll
            for (int half = 0; half < mine; ++half) value[half] = column[min(lane + half * lanes, here - 1)];
          },
          sum);
    }
  }
  const FirstTarget target(groups, group);
  auto* const to = reinterpret_cast<float4*>(columns.to + first_slot * columns.to_slot) + first_four + lane;
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const int x = target.x + t % 2, y = target.y + t / 2;
    if (x >= groups.points || y >= groups.lines) continue;
#pragma unroll
    for (int half = 0; half < mine; ++half) {
      if (lane + half * lanes >= here) continue;
      float4& out = to[(std::int64_t{y} * groups.width + x) * quads + half * lanes];
      if (adds) add_weighted(sum[t][half], 1, out);
      out = sum[t][half];
    }
  }
}

}  // namespace

GatherShape GatherShape::of(int most_of_tile, int most_columns, int rows) {
  for (const auto kernel :
       {gather<1, true, true>, gather<1, true, false>, gather<2, true, true>, gather<2, true, false>})
    take_shared(kernel);
  // Two blocks are to fit a multiprocessor.
  constexpr std::size_t most_shared = 112 << 10;
  GatherShape shape;
  const int quads = rows / 4;
  for (int most = most_fours; most > 0; most /= 2) {
    shape.chunks = static_cast<int>(parts(quads, most));
    shape.fours = static_cast<int>(parts(quads, shape.chunks));
    shape.bytes = StagedTile::bytes(most_of_tile, most_columns, shape.fours);
    if (shape.bytes <= most_shared) return shape;
  }
  shape.bytes = 0;
  return shape;
}

void queue_gather(const StageViews& views, const GatherLists& lists, const TargetGroups& groups,
                  const GatherShape& shape, int rows, const GatheredColumns& columns, int slots, bool adds,
                  int most_entries, Stream stream) {
  const dim3 blocks(static_cast<unsigned>(groups.tiles()), static_cast<unsigned>(slots),
                    static_cast<unsigned>(shape.chunks));
  const int mine = shape.bytes > 0 ? fours_a_thread(shape.fours) : 1;
  const bool in_parts = most_entries > entries_of_part;
  auto* kernel = gather<1, false, true>;
  if (shape.bytes > 0)
    kernel = mine == 1 ? (in_parts ? gather<1, true, true> : gather<1, true, false>)
                       : (in_parts ? gather<2, true, true> : gather<2, true, false>);
  chain::launch("gather columns", kernel, blocks, static_cast<unsigned>(of_tile * shape.fours / mine), shape.bytes,
                stream, views, lists, groups, rows / 4, shape.fours, columns, adds);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
