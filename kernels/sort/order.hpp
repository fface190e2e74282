// Stable orders of events by a 32-bit key, and arrays put into such an order: by a parallel radix sort on the CPU, by
// CUB's on CUDA. Internal to the sort.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/memory/memory.hpp"
#include "kernels/sort/event_key.hpp"

namespace tofstream::detail {

/// `order[k]` is the position that the k-th event in sorted order had; `bounds[t]` is the number of
/// events whose key is below thresholds[t].
struct SortedOrder {
  Buffer<std::uint32_t> order;
  std::vector<std::int64_t> bounds;
};

/// Sorts [0, count) by the low `bits` bits of key(i), equal keys staying in order; all keys must be
/// below 2^bits. `thresholds` must be non-decreasing.
template <class Key>
SortedOrder sorted_order_cpu(std::int64_t count, const Key& key, int bits,
                             const std::vector<std::uint32_t>& thresholds);
template <class Key>
SortedOrder sorted_order_cuda(std::int64_t count, const Key& key, int bits,
                              const std::vector<std::uint32_t>& thresholds, Stream stream);

/// to[k] = from[order[k]] for k in [0, count), in host memory.
void gather_cpu(const std::uint32_t* from, const std::uint32_t* order, std::int64_t count, std::uint32_t* to);
/// The same in device memory, queued on the stream.
void gather_cuda(const std::uint32_t* from, const std::uint32_t* order, std::int64_t count, std::uint32_t* to,
                 Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
