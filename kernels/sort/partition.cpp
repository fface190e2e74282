// Partition, sort and cut of event batches: see partition.hpp.
#include "kernels/sort/partition.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/sort/order.hpp"

namespace tofstream {

#ifndef TOFSTREAM_HAVE_CUDA
template <class Key>
detail::SortedOrder detail::sorted_order_cuda(std::int64_t, const Key&, int, const std::vector<std::uint32_t>&,
                                              Stream) {
  refuse_cuda();
}
void detail::gather_cuda(const std::uint32_t*, const std::uint32_t*, std::int64_t, std::uint32_t*, Stream) {
  refuse_cuda();
}
#endif

namespace {

using detail::SortedOrder;

template <class Key>
SortedOrder sorted_order(std::int64_t count, const Key& key, int bits, const std::vector<std::uint32_t>& thresholds,
                         Memory memory, Stream stream) {
  return on_host(memory) ? detail::sorted_order_cpu(count, key, bits, thresholds)
                         : detail::sorted_order_cuda(count, key, bits, thresholds, stream);
}

/// Elements order[0] to order[count - 1] of an array of 32-bit values.
template <class T>
Buffer<T> gathered(const Buffer<T>& from, const std::uint32_t* order, std::int64_t count, Stream stream) {
  static_assert(sizeof(T) == sizeof(std::uint32_t), "the gather moves 32-bit values");
  Buffer<T> to(from.memory(), count, stream);
  const auto* source = reinterpret_cast<const std::uint32_t*>(from.data());
  auto* target = reinterpret_cast<std::uint32_t*>(to.data());
  if (on_host(from.memory()))
    detail::gather_cpu(source, order, count, target);
  else
    detail::gather_cuda(source, order, count, target, stream);
  return to;
}

/// Device memory is released in the order of the stream that it was allocated on, which need not be the sort's: wait,
/// so that nothing is released that the sort still reads.
void wait_before_release(Memory memory, Stream stream) {
  if (memory == Memory::device) synchronize(stream);
}

void require_ranks_fit(const EventBatch& batch) {
  if (batch.count > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error(
        fmt::format("a sort takes at most 4294967295 events, not {}: use smaller batches or subsets", batch.count));
}

/// What a piece shares with its batch: everything but events and time.
EventBatch without_events(const EventBatch& batch) {
  EventBatch result;
  result.scanner = batch.scanner;
  result.detectors = batch.detectors;
  result.tof = batch.tof;
  result.exposure = batch.exposure;
  result.delayed = batch.delayed;
  result.quantity = batch.quantity;
  result.live = batch.live;
  result.pose = batch.pose;
  return result;
}

/// Moves `array` into the per-event array of `batch` that for_each_array visits as number `index`.
template <class T>
void put_array(EventBatch& batch, int index, Buffer<T> array) {
  int visited = 0;
  for_each_array(batch, [&]<class U>(Buffer<U>& target) {
    if constexpr (std::is_same_v<T, U>) {
      if (visited == index) target = std::move(array);
    }
    ++visited;
  });
}

/// Each event's rank in the piece that it falls into.
Buffer<std::uint32_t> ranks_in_pieces(const Buffer<std::uint32_t>& arrival, std::span<const std::int64_t> cuts,
                                      Stream stream) {
  if (arrival.empty()) return {};
  Buffer<std::uint32_t> ranks = arrival.to(Memory::host, stream);
  synchronize(stream);
  for (std::uint32_t& rank : ranks.span()) {
    const auto next = std::ranges::upper_bound(cuts, std::int64_t{rank});
    if (next != cuts.begin()) rank -= static_cast<std::uint32_t>(*std::prev(next));
  }
  Buffer<std::uint32_t> there = ranks.to(arrival.memory(), stream);
  synchronize(stream);  // before the ranks on the host are released
  return there;
}

}  // namespace

EventBatch partition_and_sort(EventBatch batch, Backend backend, Stream stream, const SortSettings& settings) {
  if (!(std::isfinite(settings.cell_mm) && settings.cell_mm > 0))
    throw std::invalid_argument(
        fmt::format("sort cells must be of finite, positive size (mm), not {}", settings.cell_mm));
  require_ranks_fit(batch);
  const Memory memory = memory_of(backend);
  if (batch.count > 0 && on_host(batch.memory()) != on_host(memory)) batch = batch.to(memory, stream);

  const detail::EventKey key{batch.view(), settings.key, 1.0f / settings.cell_mm};
  std::vector<std::uint32_t> axis_starts;
  for (std::uint32_t axis = 0; axis < 3; ++axis) axis_starts.push_back(axis << key.position_bits());
  SortedOrder sorted = sorted_order(batch.count, key, key.bits(), axis_starts, memory, stream);

  for (int axis = 0; axis < 3; ++axis) batch.axis_begin[axis] = sorted.bounds[static_cast<std::size_t>(axis)];
  batch.axis_begin[3] = batch.count;
  for_each_array(batch, [&](auto& array) {
    if (array.empty()) return;
    auto moved = gathered(array, sorted.order.data(), batch.count, stream);
    wait_before_release(array.memory(), stream);
    array = std::move(moved);
  });
  if (batch.arrival.empty()) batch.arrival = std::move(sorted.order);
  return batch;
}

std::vector<EventBatch> split_by_arrival(EventBatch&& batch, std::span<const std::int64_t> cuts, Stream stream,
                                         ArrivalRanks ranks) {
  require_ranks_fit(batch);
  std::int64_t previous = 0;
  for (const std::int64_t cut : cuts) {
    if (cut < previous || cut > batch.count)
      throw std::invalid_argument(fmt::format("cuts of a batch must not decrease and lie in [0, {}]: {} follows {}",
                                              batch.count, cut, previous));
    previous = cut;
  }
  if (cuts.empty()) {
    if (ranks == ArrivalRanks::dropped) batch.arrival = {};
    std::vector<EventBatch> whole;
    whole.push_back(std::move(batch));
    return whole;
  }
  const std::size_t pieces = cuts.size() + 1;
  if (pieces > (std::size_t{1} << 29)) throw std::invalid_argument("a batch is cut into at most 2^29 pieces");
  const Memory memory = batch.count > 0 ? batch.memory() : Memory::host;
  const Buffer<std::int64_t> cuts_there = Buffer<std::int64_t>::from(cuts).to(memory, stream);
  detail::PieceKey key{
      batch.arrival.empty() ? nullptr : batch.arrival.data(), cuts_there.data(), cuts_there.size(), {}};
  for (int a = 0; a < 4; ++a) key.axis_begin[a] = batch.axis_begin[a];
  std::vector<std::uint32_t> starts;  // of each piece and axis, and the end
  for (std::size_t k = 0; k <= 4 * pieces; ++k) starts.push_back(static_cast<std::uint32_t>(k));
  const SortedOrder sorted =
      sorted_order(batch.count, key, static_cast<int>(std::bit_width(4 * pieces)), starts, memory, stream);

  const bool partitioned = batch.axis_begin[3] == batch.count;
  std::vector<EventBatch> result;
  for (std::size_t p = 0; p < pieces; ++p) {
    const std::int64_t begin = sorted.bounds[4 * p], end = sorted.bounds[4 * p + 4];
    EventBatch piece = without_events(batch);
    piece.count = end - begin;
    for (std::size_t a = 0; partitioned && a < 4; ++a) piece.axis_begin[a] = sorted.bounds[4 * p + a] - begin;
    const double share = batch.count > 0 ? batch.duration_s / static_cast<double>(batch.count) : 0;
    piece.start_s = batch.start_s + share * static_cast<double>(begin);
    piece.duration_s = share * static_cast<double>(end - begin);
    result.push_back(std::move(piece));
  }
  if (batch.count == 0) result.back().duration_s = batch.duration_s;

  batch.arrival = ranks == ArrivalRanks::kept ? ranks_in_pieces(batch.arrival, cuts, stream) : Buffer<std::uint32_t>{};
  int index = 0;  // array by array, so that just one is held twice
  for_each_array(batch, [&](auto& from) {
    for (std::size_t p = 0; !from.empty() && p < pieces; ++p) {
      const std::uint32_t* order = sorted.order.data() + sorted.bounds[4 * p];
      put_array(result[p], index, gathered(from, order, result[p].count, stream));
    }
    wait_before_release(memory, stream);
    from = {};
    ++index;
  });
  return result;
}

std::vector<EventBatch> deal_by_arrival(EventBatch&& batch, int pieces, std::int64_t first, Stream stream) {
  if (pieces < 1 || first < 0)
    throw std::invalid_argument(
        fmt::format("a batch is dealt into at least 1 piece, from an event 0 or later, not "
                    "into {} from {}",
                    pieces, first));
  require_ranks_fit(batch);
  const std::int64_t count = batch.count, n = pieces, shift = first % n;
  const double start_s = batch.start_s, share_s = batch.duration_s / static_cast<double>(pieces);
  // Events of a piece get consecutive ranks: begin of the piece + rank / n.
  std::vector<std::int64_t> begins = {0};
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t lowest = (k + n - shift) % n;
    begins.push_back(begins.back() + (lowest < count ? (count - 1 - lowest) / n + 1 : 0));
  }
  const Memory memory = count > 0 ? batch.memory() : Memory::host;
  auto ranks =
      batch.arrival.empty() ? Buffer<std::uint32_t>(Memory::host, count) : batch.arrival.to(Memory::host, stream);
  synchronize(stream);
  if (batch.arrival.empty()) std::iota(ranks.span().begin(), ranks.span().end(), 0u);
  for (std::uint32_t& rank : ranks.span())
    rank = static_cast<std::uint32_t>(begins[static_cast<std::size_t>((shift + rank) % n)] + rank / n);
  batch.arrival = ranks.to(memory, stream);
  synchronize(stream);  // before the ranks on the host are released
  std::vector<EventBatch> dealt =
      split_by_arrival(std::move(batch), std::span(begins).subspan(1, static_cast<std::size_t>(n - 1)), stream);
  for (EventBatch& piece : dealt) {
    piece.start_s = start_s;
    piece.duration_s = share_s;
  }
  return dealt;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
