// Sorting of visits by tile and length, and the sharing out of work among blocks: see visit_plan.hpp.
#include <bit>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

namespace {

constexpr int threads = 256;
constexpr std::uint32_t keys_a_tile = 2u << length_bits;

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

__device__ std::int64_t global_thread() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__global__ void gather_visits(const std::uint32_t* slots, std::int64_t count, const Visit* from, Visit* to) {
  const std::int64_t i = global_thread();
  if (i >= count) return;
  const float4* source = reinterpret_cast<const float4*>(from + slots[i]);
  float4* target = reinterpret_cast<float4*>(to + i);
  const float4 line = source[0], rest = source[1];
  target[0] = line;
  target[1] = rest;
}

/// bounds[k] = sorted keys below k.
__global__ void find_key_bounds(const std::uint32_t* sorted, std::int64_t visits, std::int64_t keys,
                                std::uint32_t* bounds) {
  const std::int64_t k = global_thread();
  if (k > keys) return;
  std::int64_t low = 0, high = visits;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (sorted[middle] < k) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bounds[k] = static_cast<std::uint32_t>(low);
}

/// What a tile costs: its planes to cross, and what every visit costs besides.
__global__ void weigh_tiles(const std::uint32_t* bounds, int tiles, std::uint32_t* tile_begin,
                            unsigned long long* work) {
  const int tile = static_cast<int>(global_thread());
  if (tile > tiles) return;
  tile_begin[tile] = bounds[static_cast<std::size_t>(tile) * keys_a_tile];
  if (tile == tiles) return;
  constexpr unsigned visit_cost = 4;  // in planes: reading it, and what its warp waits for the others
  unsigned long long sum = 0;
  for (std::uint32_t k = 0; k < keys_a_tile; ++k) {
    const std::uint32_t* bound = bounds + static_cast<std::size_t>(tile) * keys_a_tile + k;
    sum += static_cast<unsigned long long>(bound[1] - bound[0]) * (max_planes - k % max_planes + visit_cost);
  }
  work[tile] = sum;
}

constexpr int share_threads = 1024;

/// Cuts the tiles' work into items of nearly equal size: one for each block where there are few tiles, so that all end
/// together; else smaller ones than a block's share, of which idle blocks take the next.
__global__ void share_out(const unsigned long long* work, int tiles, int blocks, int items_a_block, Item* items,
                          std::uint32_t* item_count) {
  using Scan = cub::BlockScan<unsigned, share_threads>;
  using Reduce = cub::BlockReduce<unsigned long long, share_threads>;
  __shared__ union {
    Scan::TempStorage scan;
    Reduce::TempStorage reduce;
  } scratch;
  __shared__ unsigned long long total;
  unsigned long long mine = 0;
  for (int tile = static_cast<int>(threadIdx.x); tile < tiles; tile += share_threads) mine += work[tile];
  const unsigned long long sum = Reduce(scratch.reduce).Sum(mine);
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  const double share = static_cast<double>(total) / (blocks * items_a_block);
  unsigned before = 0;
  for (int first = 0; first < tiles; first += share_threads) {
    const int tile = first + static_cast<int>(threadIdx.x);
    unsigned parts = 0;
    if (tile < tiles && work[tile] > 0) {
      const double shares = static_cast<double>(work[tile]) / share;
      parts = max(1u, static_cast<unsigned>(items_a_block == 1 ? floor(shares) : ceil(shares)));
    }
    unsigned begin = 0, all = 0;
    Scan(scratch.scan).ExclusiveSum(parts, begin, all);
    for (unsigned part = 0; part < parts; ++part)
      items[before + begin + part] = {static_cast<std::uint32_t>(tile), part, parts, 0};
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) *item_count = before;
}

}  // namespace

void scan_counts(const std::uint32_t* counts, std::int64_t events, std::uint32_t* first, Stream stream) {
  std::size_t bytes = 0;
  check_cuda(cub::DeviceScan::ExclusiveSum(nullptr, bytes, counts, first, events + 1, stream), "size a scan's scratch");
  Buffer<std::byte> scratch(Memory::device, static_cast<std::int64_t>(bytes), stream);
  check_cuda(cub::DeviceScan::ExclusiveSum(scratch.data(), bytes, counts, first, events + 1, stream), "count visits");
}

std::pair<std::uint32_t, std::uint32_t> read_counts(const std::uint32_t* first, const std::uint32_t* second,
                                                    Stream stream) {
  std::uint32_t values[2] = {};
  check_cuda(cudaMemcpyAsync(&values[0], first, sizeof values[0], cudaMemcpyDeviceToHost, stream), "read a count");
  check_cuda(cudaMemcpyAsync(&values[1], second, sizeof values[1], cudaMemcpyDeviceToHost, stream), "read a count");
  synchronize(stream);
  return {values[0], values[1]};
}

void order_visits(Visits& made, const Buffer<Visit>& visits, Buffer<std::uint32_t>& keys, Buffer<std::uint32_t> numbers,
                  int blocks, Stream stream) {
  const std::int64_t count = visits.size();
  const int tiles = made.tiling.count();
  Buffer<std::uint32_t> keys2(Memory::device, count, stream), numbers2(Memory::device, count, stream);
  cub::DoubleBuffer<std::uint32_t> key_buffers(keys.data(), keys2.data());
  cub::DoubleBuffer<std::uint32_t> number_buffers(numbers.data(), numbers2.data());
  const int bits = static_cast<int>(std::bit_width(tiles * keys_a_tile - 1));
  std::size_t bytes = 0;
  check_cuda(cub::DeviceRadixSort::SortPairs(nullptr, bytes, key_buffers, number_buffers, count, 0, bits, stream),
             "size the sort's scratch");
  Buffer<std::byte> scratch(Memory::device, static_cast<std::int64_t>(bytes), stream);
  check_cuda(
      cub::DeviceRadixSort::SortPairs(scratch.data(), bytes, key_buffers, number_buffers, count, 0, bits, stream),
      "sort visits");
  made.visits = Buffer<Visit>(Memory::device, count, stream);
  gather_visits<<<blocks_for(count), threads, 0, stream>>>(number_buffers.Current(), count, visits.data(),
                                                           made.visits.data());
  check_launch("put visits into order");
  made.slots = std::move(number_buffers.Current() == numbers.data() ? numbers : numbers2);

  const std::int64_t all_keys = std::int64_t{tiles} * keys_a_tile;
  Buffer<std::uint32_t> bounds(Memory::device, all_keys + 1, stream);
  find_key_bounds<<<blocks_for(all_keys + 1), threads, 0, stream>>>(key_buffers.Current(), count, all_keys,
                                                                    bounds.data());
  check_launch("find where tiles begin");
  Buffer<unsigned long long> work(Memory::device, tiles, stream);
  made.tile_begin = Buffer<std::uint32_t>(Memory::device, tiles + 1, stream);
  weigh_tiles<<<blocks_for(tiles + 1), threads, 0, stream>>>(bounds.data(), tiles, made.tile_begin.data(), work.data());
  check_launch("weigh tiles");
  const int items_a_block = tiles * 4 <= blocks ? 1 : 6;
  made.items = Buffer<Item>(Memory::device, std::int64_t{tiles} + blocks * items_a_block, stream);
  made.item_count = Buffer<std::uint32_t>(Memory::device, 1, stream);
  share_out<<<1, share_threads, 0, stream>>>(work.data(), tiles, blocks, items_a_block, made.items.data(),
                                             made.item_count.data());
  check_launch("share out the tiles");
}

}  // namespace tofstream::tiled
