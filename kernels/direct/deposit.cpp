// Deposit of events: see deposit.hpp. Events are placed in parallel, a block at a time, and ordered by their view; then
// views are counted in parallel, each with its events in their order.
#include "kernels/direct/deposit.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

constexpr std::int64_t deposit_block = std::int64_t{1} << 20, deposit_task = 1 << 13;

/// Asks memory for the points at which an event will count, most of which no cache has.
template <class T>
void prefetch_points(const DirectLattice& lattice, const PlacedEvent& event, const T* of_view) {
  int first[3], next[3];
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = std::max(static_cast<int>(event.at[axis]), 0);
    next[axis] = std::min(first[axis] + 1, lattice.size[axis] - 1);
  }
  for (const int k : {first[2], next[2]})
    for (const int j : {first[1], next[1]}) __builtin_prefetch(of_view + lattice.index(first[0], j, k), 1);
}

/// Where the events of each task go that each view has, [view][task], so that a view has its events in their order;
/// behind them the end of all.
class PlacesOfTasks {
 public:
  PlacesOfTasks(std::size_t views, std::size_t tasks) : tasks_(tasks), begins_(views * tasks + 1) {}
  void set_number(std::size_t view, std::size_t task, std::size_t events) {
    begins_[view * tasks_ + task + 1] = events;
  }
  void sum() { std::partial_sum(begins_.begin(), begins_.end(), begins_.begin()); }
  std::size_t begin(std::size_t view) const { return begins_[view * tasks_]; }
  std::size_t begin(std::size_t view, std::size_t task) const { return begins_[view * tasks_ + task]; }

 private:
  std::size_t tasks_;
  std::vector<std::size_t> begins_;
};

}  // namespace

DepositTally& DepositTally::operator+=(const DepositTally& other) {
  deposited += other.deposited;
  beyond_acceptance += other.beyond_acceptance;
  outside += other.outside;
  no_line += other.no_line;
  return *this;
}

void require_whole_deposit(DepositKind kind, DepositSpread spread) {
  if (kind != DepositKind::nearest || spread != DepositSpread::none)
    throw std::invalid_argument(
        "counts of 16 bits are of whole events: take deposit nearest without spread, or counts as float");
}

void refuse_overflow() {
  throw std::runtime_error("a point of a histo-image has more than 65535 counts: take counts as float");
}

HistoDeposit::HistoDeposit(const Grid& grid, const DirectViews& views, HistoLattice lattice, DepositKind kind,
                           DepositSpread spread)
    : views_(views), kind_(kind), spread_(spread) {
  validate(grid);
  validate(views);
  for (int v = 0; v < views.count(); ++v)
    lattices_.push_back(DirectLattice::of(grid, lattice, ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v))));
  view_points_ = lattices_.front().points();
}

template <class Event>
void HistoDeposit::place(const EventView& events, std::int64_t begin, std::int64_t end, Event* placed,
                         DepositTally& tally) const {
  for (std::int64_t e = begin; e < end; ++e) {
    const float width_mm = std::is_same_v<Event, SpreadEvent> ? events.bin_width_mm(e) : 0.0f;
    const Event event = *placed++ = place_event<Event>(views_, lattices_.data(), events.lor(e), width_mm);
    if (event.view >= 0)
      ++tally.deposited;
    else if (event.view == PlacedEvent::beyond_acceptance)
      ++tally.beyond_acceptance;
    else if (event.view == PlacedEvent::outside)
      ++tally.outside;
    else
      ++tally.no_line;
  }
}

DepositTally HistoDeposit::add(const EventView& events, float* histo, std::uint64_t* of_views) const {
  return add_to(events, histo, of_views);
}

DepositTally HistoDeposit::add(const EventView& events, std::uint16_t* histo, std::uint64_t* of_views) const {
  require_whole_deposit(kind_, spread_);
  return add_to(events, histo, of_views);
}

template <class Event, class T>
DepositTally HistoDeposit::add_placed(const EventView& events, T* histo, std::uint64_t* of_views) const {
  if (events.count > 0 && !events.has_tof())
    throw std::invalid_argument("histo-images need events with ToF: reconstruct others from list mode");
  const auto views = static_cast<std::size_t>(views_.count());
  const auto room = static_cast<std::size_t>(std::min(deposit_block, events.count));
  std::vector<Event> placed(room), ordered(room);
  DepositTally tally;
  std::atomic<bool> has_overflown = false;
  for (std::int64_t block = 0; block < events.count; block += deposit_block) {
    const std::int64_t size = std::min(deposit_block, events.count - block);
    const std::int64_t tasks = (size + deposit_task - 1) / deposit_task;
    std::vector<DepositTally> tallies(static_cast<std::size_t>(tasks));
    PlacesOfTasks places(views, static_cast<std::size_t>(tasks));
    // Calls use(event's number, view) for a task's events that have a view.
    const auto for_each_of_task = [&](std::int64_t task, const auto& use) {
      const std::int64_t begin = task * deposit_task, end = std::min(size, begin + deposit_task);
      for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e)
        if (const std::int32_t view = placed[e].view; view >= 0) use(e, static_cast<std::size_t>(view));
    };
    tbb::parallel_for(std::int64_t{0}, tasks, [&](std::int64_t task) {
      const std::int64_t begin = task * deposit_task, end = std::min(size, begin + deposit_task);
      place(events, block + begin, block + end, placed.data() + begin, tallies[static_cast<std::size_t>(task)]);
      std::vector<std::size_t> numbers(views);
      for_each_of_task(task, [&](std::size_t, std::size_t view) { ++numbers[view]; });
      for (std::size_t v = 0; v < views; ++v) places.set_number(v, static_cast<std::size_t>(task), numbers[v]);
    });
    for (const DepositTally& of_task : tallies) tally += of_task;
    places.sum();
    tbb::parallel_for(std::int64_t{0}, tasks, [&](std::int64_t task) {
      std::vector<std::size_t> next(views);
      for (std::size_t v = 0; v < views; ++v) next[v] = places.begin(v, static_cast<std::size_t>(task));
      for_each_of_task(task, [&](std::size_t e, std::size_t view) { ordered[next[view]++] = placed[e]; });
    });
    tbb::parallel_for(std::size_t{0}, views, [&](std::size_t v) {
      T* const of_view = histo + static_cast<std::int64_t>(v) * view_points_;
      const std::size_t begin = places.begin(v), end = places.begin(v + 1);
      if (of_views) of_views[v] += end - begin;
      constexpr std::size_t ahead = 12;
      for (std::size_t e = begin; e < end; ++e) {
        if (e + ahead < end) prefetch_points(lattices_[v], ordered[e + ahead], of_view);
        for_each_deposit(lattices_[v], ordered[e], kind_, [&](std::int64_t point, float weight) {
          if constexpr (std::is_same_v<T, float>)
            of_view[point] += weight;
          else if (++of_view[point] == 0)
            has_overflown = true;
        });
      }
    });
  }
  if (has_overflown) refuse_overflow();
  return tally;
}

#ifndef TOFSTREAM_HAVE_CUDA
HistoDepositCuda::HistoDepositCuda(const Grid&, const DirectViews&, HistoLattice, DepositKind, DepositSpread,
                                   HistoCounts) {
  refuse_cuda();
}
void HistoDepositCuda::copy_whole_counts(int, int, std::uint16_t*, Memory, Stream) const {
  refuse_cuda();
}
DepositTally HistoDepositCuda::add(const EventView&, std::uint64_t*, Stream) {
  refuse_cuda();
}
void HistoDepositCuda::copy_counts(int, int, float*, Stream) const {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
