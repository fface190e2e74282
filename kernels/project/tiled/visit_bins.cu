// Where bins begin, and the sharing out of the tiles' work among blocks: see visit_bins.hpp.
#include <type_traits>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/project/tiled/visit_bins.hpp"

namespace tofstream::tiled {

namespace {

/// Each column's running sums over its rows in place of its counts, and its total.
__global__ void sum_columns(std::uint32_t* table, int rows, int columns, std::uint32_t* totals) {
  constexpr int batch = 33;  // loads on their way at a time
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= columns) return;
  std::uint32_t sum = 0;
  for (int first = 0; first < rows; first += batch) {
    std::uint32_t count[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b)
      count[b] = first + b < rows ? table[static_cast<std::int64_t>(first + b) * columns + column] : 0;
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (first + b < rows) table[static_cast<std::int64_t>(first + b) * columns + column] = sum;
      sum += count[b];
    }
  }
  totals[column] = sum;
}

constexpr int place_threads = 1024;

/// Replaces `count` numbers by their exclusive sums, by one block. Returns the sum of all.
__device__ std::uint32_t scan_in_place(std::uint32_t* numbers, int count) {
  constexpr int each = 4;
  using Scan = cub::BlockScan<std::uint32_t, place_threads>;
  __shared__ Scan::TempStorage scratch;
  std::uint32_t before = 0;
  for (int first = 0; first < count; first += place_threads * each) {
    std::uint32_t own[each];
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int i = first + static_cast<int>(threadIdx.x) * each + k;
      own[k] = i < count ? numbers[i] : 0;
    }
    std::uint32_t all;
    Scan(scratch).ExclusiveSum(own, own, all);
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int i = first + static_cast<int>(threadIdx.x) * each + k;
      if (i < count) numbers[i] = before + own[k];
    }
    before += all;
    __syncthreads();
  }
  return before;
}

/// The cost of a tile: the planes that its visits cross, and a constant for every visit. Called by a warp.
__device__ unsigned long long work_of(const VisitBins& shape, const std::uint32_t* begins, std::uint32_t visits,
                                      int tile) {
  constexpr unsigned visit_cost = 4;  // in planes: reading it, and what its warp waits for the others
  unsigned long long sum = 0;
  for (int k = static_cast<int>(threadIdx.x) % 32; k < shape.a_tile(); k += 32) {
    const int bin = tile * shape.a_tile() + k;
    const std::uint32_t end = bin + 1 < shape.count() ? begins[bin + 1] : visits;
    sum +=
        static_cast<unsigned long long>(end - begins[bin]) * (static_cast<unsigned>(shape.planes_of(k)) + visit_cost);
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  return sum;
}

constexpr int few_tiles = 32;

/// Into how many parts each tile is cut so that the longest of at most `blocks` parts is as short as possible; at least
/// one for a tile that has work. Called by a warp, each lane with the work of one tile.
__device__ unsigned least_longest(float work, float total, int blocks) {
  unsigned parts = work > 0 ? max(1u, static_cast<unsigned>(work / total * static_cast<float>(blocks))) : 0;
  for (int left = blocks - static_cast<int>(__reduce_add_sync(0xffffffffu, parts)); left > 0; --left) {
    // Positive floats are in the order of their bits.
    const unsigned length = parts > 0 ? __float_as_uint(work / static_cast<float>(parts)) : 0;
    const unsigned longest = __reduce_max_sync(0xffffffffu, length);
    if (longest == 0) break;
    const unsigned who = __ffs(static_cast<int>(__ballot_sync(0xffffffffu, length == longest))) - 1;
    if (threadIdx.x % 32 == who) ++parts;
  }
  return parts;
}

struct Sharing {
  int blocks, items_a_block;
  unsigned long long* tile_work;
  Found* found;
  std::uint32_t *tile_begin, *tile_parts, *item_count;
  Item* items;
};

/// Finds where bins and tiles begin, and cuts the tiles' work into items of nearly equal size: one for each block where
/// there are few tiles, so that all end together; else smaller ones than a block's share, of which idle blocks take the
/// next. By one block.
__global__ void __launch_bounds__(place_threads) place(VisitBins shape, std::uint32_t* begins, Sharing sharing) {
  using Scan = cub::BlockScan<unsigned, place_threads>;
  using Reduce = cub::BlockReduce<unsigned long long, place_threads>;
  __shared__ union {
    Scan::TempStorage scan;
    Reduce::TempStorage reduce;
  } scratch;
  __shared__ unsigned long long total;
  scan_in_place(begins + shape.events_of(0), shape.tiles);
  scan_in_place(begins + shape.visits_of(0), shape.tiles);
  const std::uint32_t visits = scan_in_place(begins, shape.count());
  if (threadIdx.x == 0) sharing.found->visits = visits;
  __syncthreads();

  unsigned long long mine = 0;
  for (int tile = static_cast<int>(threadIdx.x) / 32; tile < shape.tiles; tile += place_threads / 32) {
    const unsigned long long work = work_of(shape, begins, visits, tile);
    if (threadIdx.x % 32 != 0) continue;
    sharing.tile_work[tile] = work;
    mine += work;
  }
  const unsigned long long sum = Reduce(scratch.reduce).Sum(mine);
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  __shared__ unsigned parts_of[few_tiles];
  if (sharing.items_a_block == 1 && threadIdx.x < 32) {
    const unsigned tile = threadIdx.x;
    const unsigned long long work = tile < static_cast<unsigned>(shape.tiles) ? sharing.tile_work[tile] : 0;
    parts_of[tile] = least_longest(static_cast<float>(work), static_cast<float>(total), sharing.blocks);
  }
  __syncthreads();
  const double share = static_cast<double>(total) / (sharing.blocks * sharing.items_a_block);
  unsigned before = 0;
  for (int first = 0; first <= shape.tiles; first += place_threads) {
    const int tile = first + static_cast<int>(threadIdx.x);
    unsigned parts = 0;
    if (tile < shape.tiles) {
      parts = sharing.items_a_block == 1
                  ? parts_of[tile]
                  : static_cast<unsigned>(ceil(static_cast<double>(sharing.tile_work[tile]) / share));
      sharing.tile_parts[tile] = parts;
    }
    if (tile <= shape.tiles) sharing.tile_begin[tile] = tile < shape.tiles ? begins[tile * shape.a_tile()] : visits;
    unsigned begin = 0, all = 0;
    Scan(scratch.scan).ExclusiveSum(parts, begin, all);
    for (unsigned part = 0; part < parts; ++part)
      sharing.items[before + begin + part] = {static_cast<std::uint32_t>(tile), part, parts, 0};
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) *sharing.item_count = before;
}

}  // namespace

void PlanSpace::fit(const VisitBins& shape, int row_count, std::int64_t events, Stream stream) {
  const auto room = [&](auto& buffer, std::int64_t size) {
    if (buffer.size() >= size) return;
    buffer = {};
    buffer = std::remove_reference_t<decltype(buffer)>(Memory::device, size, stream);
  };
  rows = row_count;
  room(counts, std::int64_t{rows} * shape.counters());
  room(begins, shape.counters());
  room(visits_of_event, events);
  room(tile_work, shape.tiles);
  room(found, 1);
  found.clear(stream);
  if (rows == 1) counts.clear(stream);
}

void place_visits(const VisitBins& shape, PlanSpace& space, Visits& made, Stream stream) {
  constexpr int threads = 64;  // few columns have to keep many multiprocessors busy
  const auto grid = static_cast<unsigned>((shape.counters() + threads - 1) / threads);
  sum_columns<<<grid, threads, 0, stream>>>(space.counts.data(), space.rows, shape.counters(), space.begins.data());
  check_launch("sum up counts of visits");
  const int items_a_block = shape.tiles <= few_tiles && shape.tiles * 4 <= space.blocks ? 1 : 6;
  made.tile_begin = Buffer<std::uint32_t>(Memory::device, shape.tiles + 1, stream);
  made.tile_parts = Buffer<std::uint32_t>(Memory::device, shape.tiles, stream);
  made.items = Buffer<Item>(Memory::device, std::int64_t{shape.tiles} + space.blocks * items_a_block, stream);
  made.item_count = Buffer<std::uint32_t>(Memory::device, 1, stream);
  const Sharing sharing{space.blocks,           items_a_block,          space.tile_work.data(), space.found.data(),
                        made.tile_begin.data(), made.tile_parts.data(), made.item_count.data(), made.items.data()};
  place<<<1, place_threads, 0, stream>>>(shape, space.begins.data(), sharing);
  check_launch("place visits");
}

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
