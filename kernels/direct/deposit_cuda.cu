// Deposit of events on a GPU: see deposit.hpp. A thread an event; whole numbers are added in any order.
#include <stdexcept>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/direct/deposit.hpp"
#include "kernels/types/float_counts.hpp"

namespace tofstream {

namespace {

constexpr int deposit_threads = 256;
constexpr float units_an_event = 1 << 24;
constexpr int tally_reasons = 3;  // why an event has no view: -view of PlacedEvent, less 1; then each view's events

using Sum = unsigned long long;

/// Where counts go: sums of 8 bytes, or whole numbers of 16 bits, two of which share a word.
struct DepositSums {
  Sum* sums = nullptr;
  unsigned* whole = nullptr;
  Sum* overflow = nullptr;

  __device__ void add(std::int64_t point, float weight) const {
    if (whole) {
      const unsigned shift = 16 * static_cast<unsigned>(point & 1), before = atomicAdd(whole + point / 2, 1u << shift);
      if ((before >> shift & 0xffffu) == 0xffffu) atomicAdd(overflow, Sum{1});
      return;
    }
    const auto units = static_cast<Sum>(__float2ull_rn(weight * units_an_event));
    if (units > 0) atomicAdd(sums + point, units);
  }
};

__global__ void __launch_bounds__(deposit_threads)
    deposit_events(EventView events, DirectViews views, const DirectLattice* lattices, std::int64_t view_points,
                   DepositKind kind, DepositSpread spread, DepositSums sums, Sum* tally) {
  __shared__ unsigned counts[tally_reasons];
  if (threadIdx.x < tally_reasons) counts[threadIdx.x] = 0;
  __syncthreads();
  const std::int64_t e = std::int64_t{blockIdx.x} * deposit_threads + threadIdx.x;
  if (e < events.count) {
    const float width_mm = spread == DepositSpread::none ? 0.0f : events.bin_width_mm(e);
    const auto event = place_event<SpreadEvent>(views, lattices, events.lor(e), width_mm);
    if (event.view < 0) {
      atomicAdd(&counts[-event.view - 1], 1u);
    } else {
      atomicAdd(tally + tally_reasons + event.view, Sum{1});
      const std::int64_t first = event.view * view_points;
      for_each_deposit(lattices[event.view], event, kind,
                       [&](std::int64_t point, float weight) { sums.add(first + point, weight); });
    }
  }
  __syncthreads();
  if (threadIdx.x < tally_reasons && counts[threadIdx.x] > 0)
    atomicAdd(tally + threadIdx.x, static_cast<Sum>(counts[threadIdx.x]));
}

__global__ void __launch_bounds__(deposit_threads) to_counts(const Sum* sums, std::int64_t points, float* counts) {
  const std::int64_t i = std::int64_t{blockIdx.x} * deposit_threads + threadIdx.x;
  if (i < points) counts[i] = static_cast<float>(static_cast<double>(sums[i]) / static_cast<double>(units_an_event));
}

unsigned deposit_blocks(std::int64_t threads) {
  return static_cast<unsigned>((threads + deposit_threads - 1) / deposit_threads);
}

Sum* sums_of(Buffer<std::uint64_t>& buffer) {
  static_assert(sizeof(Sum) == sizeof(std::uint64_t));
  return reinterpret_cast<Sum*>(buffer.data());
}

}  // namespace

HistoDepositCuda::HistoDepositCuda(const Grid& grid, const DirectViews& views, HistoLattice lattice, DepositKind kind,
                                   DepositSpread spread, HistoCounts counts)
    : views_(views), kind_(kind), spread_(spread) {
  if (counts == HistoCounts::whole) require_whole_deposit(kind, spread);
  validate(grid);
  validate(views);
  std::vector<DirectLattice> lattices;
  for (int v = 0; v < views.count(); ++v)
    lattices.push_back(DirectLattice::of(grid, lattice, ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v))));
  view_points_ = lattices.front().points();
  lattices_ = Buffer<DirectLattice>::from(lattices).to(Memory::device);
  if (counts == HistoCounts::whole)
    whole_ = Buffer<std::uint32_t>::zeros(Memory::device, (points() + 1) / 2);
  else
    sums_ = Buffer<std::uint64_t>::zeros(Memory::device, points());
  tallies_ = Buffer<std::uint64_t>(Memory::device, tally_reasons + views.count() + 1);  // the last: overflows
  synchronize(nullptr);  // the host's copies may go, and events may come on any stream
}

DepositTally HistoDepositCuda::add(const EventView& events, std::uint64_t* of_views, Stream stream) {
  if (events.count > 0 && !events.has_tof())
    throw std::invalid_argument("histo-images need events with ToF: reconstruct others from list mode");
  if (events.count == 0) return {};
  tallies_.clear(stream);
  deposit_events<<<deposit_blocks(events.count), deposit_threads, 0, stream>>>(
      events, views_, lattices_.data(), view_points_, kind_, spread_,
      DepositSums{sums_of(sums_), whole_.data(), sums_of(tallies_) + tally_reasons + views_.count()},
      sums_of(tallies_));
  check_launch("deposit events");
  const std::vector<std::uint64_t> tally = tallies_.to_vector(stream);
  if (tally.back() > 0) refuse_overflow();
  const auto of = [&](std::int32_t why) { return tally[static_cast<std::size_t>(-why - 1)]; };
  DepositTally result{0, of(PlacedEvent::beyond_acceptance), of(PlacedEvent::outside), of(PlacedEvent::no_line)};
  for (int v = 0; v < views_.count(); ++v) {
    const std::uint64_t of_view = tally[static_cast<std::size_t>(tally_reasons + v)];
    result.deposited += of_view;
    if (of_views) of_views[v] += of_view;
  }
  return result;
}

void HistoDepositCuda::copy_whole_counts(int first, int count, std::uint16_t* counts, Memory memory,
                                         Stream stream) const {
  if (whole_.empty()) throw std::logic_error("these histo-images have no whole counts");
  const auto* const all = reinterpret_cast<const std::uint16_t*>(whole_.data());  // the lower half comes first
  detail::copy(counts, memory, all + first * view_points_, Memory::device,
               static_cast<std::size_t>(count * view_points_) * sizeof(std::uint16_t), stream);
}

void HistoDepositCuda::copy_counts(int first, int count, float* counts, Stream stream) const {
  const std::int64_t points = count * view_points_;
  if (!whole_.empty())
    return to_float_counts(reinterpret_cast<const std::uint16_t*>(whole_.data()) + first * view_points_, points, counts,
                           Memory::device, stream);
  to_counts<<<deposit_blocks(points), deposit_threads, 0, stream>>>(
      reinterpret_cast<const Sum*>(sums_.data()) + first * view_points_, points, counts);
  check_launch("count events");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
