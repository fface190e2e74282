// Orders of events by CUB's radix sort, and arrays gathered into them: see order.hpp.
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/sort/order.hpp"

namespace tofstream::detail {

namespace {

template <class Key>
__global__ void make_pairs(std::int64_t count, Key key, std::uint32_t* keys, std::uint32_t* positions) {
  const std::int64_t i = elementwise::element();
  if (i >= count) return;
  keys[i] = key(i);
  positions[i] = static_cast<std::uint32_t>(i);
}

/// bounds[t] = number of sorted keys below thresholds[t]; one thread a threshold.
__global__ void find_bounds(const std::uint32_t* sorted, std::int64_t count, const std::uint32_t* thresholds,
                            std::int64_t threshold_count, std::int64_t* bounds) {
  const std::int64_t t = elementwise::element();
  if (t >= threshold_count) return;
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (sorted[middle] < thresholds[t]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bounds[t] = low;
}

__global__ void gather(const std::uint32_t* from, const std::uint32_t* order, std::int64_t count, std::uint32_t* to) {
  const std::int64_t k = elementwise::element();
  if (k < count) to[k] = from[order[k]];
}

std::vector<std::int64_t> bounds_of(const std::uint32_t* sorted, std::int64_t count,
                                    const std::vector<std::uint32_t>& thresholds, Stream stream) {
  const auto n = static_cast<std::int64_t>(thresholds.size());
  if (n == 0) return {};
  const auto on_device = Buffer<std::uint32_t>::from(thresholds).to(Memory::device, stream);
  Buffer<std::int64_t> bounds(Memory::device, n, stream);
  find_bounds<<<elementwise::blocks(n), elementwise::threads, 0, stream>>>(sorted, count, on_device.data(), n,
                                                                           bounds.data());
  check_launch("find where keys begin");
  return bounds.to_vector(stream);
}

}  // namespace

template <class Key>
SortedOrder sorted_order_cuda(std::int64_t count, const Key& key, int bits,
                              const std::vector<std::uint32_t>& thresholds, Stream stream) {
  if (count == 0) return {{}, std::vector<std::int64_t>(thresholds.size(), 0)};
  Buffer<std::uint32_t> keys(Memory::device, count, stream), keys2(Memory::device, count, stream);
  Buffer<std::uint32_t> order(Memory::device, count, stream), order2(Memory::device, count, stream);
  make_pairs<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(count, key, keys.data(), order.data());
  check_launch("make sort keys");
  cub::DoubleBuffer<std::uint32_t> key_buffers(keys.data(), keys2.data());
  cub::DoubleBuffer<std::uint32_t> order_buffers(order.data(), order2.data());
  std::size_t bytes = 0;
  check_cuda(cub::DeviceRadixSort::SortPairs(nullptr, bytes, key_buffers, order_buffers, count, 0, bits, stream),
             "size the sort's scratch");
  Buffer<std::byte> scratch(Memory::device, static_cast<std::int64_t>(bytes), stream);
  check_cuda(cub::DeviceRadixSort::SortPairs(scratch.data(), bytes, key_buffers, order_buffers, count, 0, bits, stream),
             "sort events");
  SortedOrder result;
  result.bounds = bounds_of(key_buffers.Current(), count, thresholds, stream);
  result.order = order_buffers.Current() == order.data() ? std::move(order) : std::move(order2);
  return result;
}

template SortedOrder sorted_order_cuda(std::int64_t, const EventKey&, int, const std::vector<std::uint32_t>&, Stream);
template SortedOrder sorted_order_cuda(std::int64_t, const GivenKey&, int, const std::vector<std::uint32_t>&, Stream);
template SortedOrder sorted_order_cuda(std::int64_t, const PieceKey&, int, const std::vector<std::uint32_t>&, Stream);

void gather_cuda(const std::uint32_t* from, const std::uint32_t* order, std::int64_t count, std::uint32_t* to,
                 Stream stream) {
  if (count == 0) return;
  gather<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(from, order, count, to);
  check_launch("put an array into its order");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
