// Where bins begin, and the sharing out of the tiles' work among blocks: see visit_bins.hpp.
#include <utility>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/project/tiled/visit_bins.hpp"

namespace tofstream::tiled {

namespace {

/// Each column's running sums over its rows in place of its counts, and its total.
template <class T>
__global__ void sum_columns(T* table, int rows, int columns, T* totals) {
  constexpr int batch = 12;  // loads on their way at a time
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= columns) return;
  T sum = 0;
  for (int first = 0; first < rows; first += batch) {
    T count[batch];
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

/// The exclusive sums of `count` numbers in place of them, by one block. Returns the sum of all.
template <class T>
__device__ T scan_in_place(T* numbers, int count) {
  constexpr int each = 4;
  using Scan = cub::BlockScan<T, place_threads>;
  __shared__ typename Scan::TempStorage scratch;
  T before = 0;
  for (int first = 0; first < count; first += place_threads * each) {
    T own[each];
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int i = first + static_cast<int>(threadIdx.x) * each + k;
      own[k] = i < count ? numbers[i] : 0;
    }
    T all;
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

/// What a tile costs: its planes to cross, and what every visit costs besides. `bin_begin` has the end too.
__device__ unsigned long long work_of(const VisitBins& shape, const std::uint32_t* bin_begin, int tile) {
  constexpr unsigned visit_cost = 4;  // in planes: reading it, and what its warp waits for the others
  unsigned long long sum = 0;
  for (int k = 0; k < shape.a_tile(); ++k) {
    const std::uint32_t* bin = bin_begin + static_cast<std::int64_t>(tile) * shape.a_tile() + k;
    sum += static_cast<unsigned long long>(bin[1] - bin[0]) * (static_cast<unsigned>(shape.planes_of(k)) + visit_cost);
  }
  return sum;
}

struct Sharing {
  int blocks, items_a_block;
  std::uint32_t *tile_begin, *tile_parts, *item_count;
  Item* items;
};

/// Finds where bins and tiles begin, and cuts the tiles' work into items of nearly equal size: one for each block where
/// there are few tiles, so that all end together; else smaller ones than a block's share, of which idle blocks take the
/// next. By one block.
__global__ void __launch_bounds__(place_threads) place(VisitBins shape, BinCounters begins, Sharing sharing) {
  using Scan = cub::BlockScan<unsigned, place_threads>;
  using Reduce = cub::BlockReduce<unsigned long long, place_threads>;
  __shared__ union {
    Scan::TempStorage scan;
    Reduce::TempStorage reduce;
  } scratch;
  __shared__ unsigned long long total;
  scan_in_place(begins.tiles, shape.tiles);
  const std::uint32_t visits = scan_in_place(begins.bins, shape.count());
  if (threadIdx.x == 0) begins.bins[shape.count()] = visits;
  __syncthreads();

  unsigned long long mine = 0;
  for (int tile = static_cast<int>(threadIdx.x); tile < shape.tiles; tile += place_threads)
    mine += work_of(shape, begins.bins, tile);
  const unsigned long long sum = Reduce(scratch.reduce).Sum(mine);
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  const double share = static_cast<double>(total) / (sharing.blocks * sharing.items_a_block);
  unsigned before = 0;
  for (int first = 0; first <= shape.tiles; first += place_threads) {
    const int tile = first + static_cast<int>(threadIdx.x);
    unsigned parts = 0;
    if (tile < shape.tiles) {
      const auto work = static_cast<double>(work_of(shape, begins.bins, tile));
      const double shares = sharing.items_a_block == 1 ? floor(work / share) : ceil(work / share);
      parts = work > 0 ? max(1u, static_cast<unsigned>(shares)) : 0;
      sharing.tile_parts[tile] = parts;
    }
    if (tile <= shape.tiles) sharing.tile_begin[tile] = begins.bins[static_cast<std::int64_t>(tile) * shape.a_tile()];
    unsigned begin = 0, all = 0;
    Scan(scratch.scan).ExclusiveSum(parts, begin, all);
    for (unsigned part = 0; part < parts; ++part)
      sharing.items[before + begin + part] = {static_cast<std::uint32_t>(tile), part, parts, 0};
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) *sharing.item_count = before;
}

template <class T>
void queue_sum_columns(Buffer<T>& table, int rows, int columns, Buffer<T>& totals, Stream stream) {
  constexpr int threads = 64;  // few columns are to keep many multiprocessors busy
  sum_columns<<<static_cast<unsigned>((columns + threads - 1) / threads), threads, 0, stream>>>(table.data(), rows,
                                                                                                columns, totals.data());
  check_launch("sum up counts of visits");
}

}  // namespace

BinTable::BinTable(const VisitBins& shape, int row_count, Stream stream)
    : rows(row_count),
      bins(Memory::device, std::int64_t{row_count} * shape.count(), stream),
      bin_begin(Memory::device, std::int64_t{shape.count()} + 1, stream),
      tiles(Memory::device, std::int64_t{row_count} * shape.tiles, stream),
      tile_begin(Memory::device, shape.tiles, stream) {}

void place_visits(const VisitBins& shape, BinTable& table, Visits& made, int blocks, Stream stream) {
  queue_sum_columns(table.bins, table.rows, shape.count(), table.bin_begin, stream);
  queue_sum_columns(table.tiles, table.rows, shape.tiles, table.tile_begin, stream);
  const int items_a_block = shape.tiles * 4 <= blocks ? 1 : 6;
  made.tile_begin = Buffer<std::uint32_t>(Memory::device, shape.tiles + 1, stream);
  made.tile_parts = Buffer<std::uint32_t>(Memory::device, shape.tiles, stream);
  made.items = Buffer<Item>(Memory::device, std::int64_t{shape.tiles} + blocks * items_a_block, stream);
  made.item_count = Buffer<std::uint32_t>(Memory::device, 1, stream);
  place<<<1, place_threads, 0, stream>>>(shape, table.begins(),
                                         {blocks, items_a_block, made.tile_begin.data(), made.tile_parts.data(),
                                          made.item_count.data(), made.items.data()});
  check_launch("place visits");
}

std::pair<std::uint32_t, std::uint32_t> read_counts(const std::uint32_t* first, const std::uint32_t* second,
                                                    Stream stream) {
  std::uint32_t values[2] = {};
  check_cuda(cudaMemcpyAsync(&values[0], first, sizeof values[0], cudaMemcpyDeviceToHost, stream), "read a count");
  check_cuda(cudaMemcpyAsync(&values[1], second, sizeof values[1], cudaMemcpyDeviceToHost, stream), "read a count");
  synchronize(stream);
  return {values[0], values[1]};
}

}  // namespace tofstream::tiled
