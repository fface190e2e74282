// Deposit of events: see deposit.hpp. Events are placed in parallel, a block at a time, and ordered by their view; then
// views are counted in parallel, each with its events in their order.
#include "kernels/direct/deposit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <tbb/parallel_for.h>

namespace tofstream {

namespace {

constexpr std::int64_t deposit_block = std::int64_t{1} << 18, deposit_task = 4096;
constexpr std::int32_t no_view = -1;

}  // namespace

DepositTally& DepositTally::operator+=(const DepositTally& other) {
  deposited += other.deposited;
  beyond_acceptance += other.beyond_acceptance;
  outside += other.outside;
  no_line += other.no_line;
  return *this;
}

HistoDeposit::HistoDeposit(const Grid& grid, const DirectViews& views, HistoLattice lattice, DepositKind kind)
    : views_(views), kind_(kind) {
  validate(grid);
  validate(views);
  for (int v = 0; v < views.count(); ++v)
    lattices_.push_back(DirectLattice::of(grid, lattice, ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v))));
  view_points_ = lattices_.front().points();
}

void HistoDeposit::place(const EventView& events, std::int64_t begin, std::int64_t end, Placed* placed,
                         DepositTally& tally) const {
  for (std::int64_t e = begin; e < end; ++e, ++placed) {
    placed->view = no_view;
    const Lor lor = events.lor(e);
    const Vec3 along = lor.end2 - lor.end1;
    const float length = norm(along);
    if (!(std::isfinite(length) && length > 0 && std::isfinite(lor.tof_mm))) {
      ++tally.no_line;
      continue;
    }
    const DirectLine line = view_of_line(views_, along);
    if (line.view < 0) {
      ++tally.beyond_acceptance;
      continue;
    }
    // The point does not depend on which way the line is turned: its ToF turns with it.
    const Vec3 at = 0.5f * (lor.end1 + lor.end2) + (lor.tof_mm / length) * along;
    const DirectLattice& lattice = lattices_[static_cast<std::size_t>(line.view)];
    const Vec3d coordinates = lattice.coordinates(at.as<double>());
    bool is_inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      placed->at[axis] = static_cast<float>(coordinates[axis]);
      is_inside =
          is_inside && placed->at[axis] >= -0.5f && placed->at[axis] < static_cast<float>(lattice.size[axis]) - 0.5f;
    }
    if (!is_inside) {
      ++tally.outside;
      continue;
    }
    placed->view = line.view;
    ++tally.deposited;
  }
}

void HistoDeposit::count(const Placed& event, float* histo) const {
  const DirectLattice& lattice = lattices_[static_cast<std::size_t>(event.view)];
  if (kind_ == DepositKind::nearest) {
    int at[3];
    for (int axis = 0; axis < 3; ++axis) at[axis] = static_cast<int>(event.at[axis] + 0.5f);
    histo[lattice.index(at[0], at[1], at[2])] += 1;
    return;
  }
  int point[3][2];
  float weight[3][2];
  for (int axis = 0; axis < 3; ++axis) {
    const float below = std::floor(event.at[axis]), share = event.at[axis] - below;
    const int first = static_cast<int>(below), last = lattice.size[axis] - 1;
    point[axis][0] = std::max(first, 0);
    point[axis][1] = std::min(first + 1, last);
    weight[axis][0] = 1 - share;
    weight[axis][1] = share;
  }
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i)
        histo[lattice.index(point[0][i], point[1][j], point[2][k])] += weight[0][i] * weight[1][j] * weight[2][k];
}

DepositTally HistoDeposit::add(const EventView& events, float* histo) const {
  if (events.count > 0 && !events.has_tof())
    throw std::invalid_argument("histo-images need events with ToF: reconstruct others from list mode");
  const auto views = static_cast<std::size_t>(views_.count());
  const auto room = static_cast<std::size_t>(std::min(deposit_block, events.count));
  std::vector<Placed> placed(room), ordered(room);
  DepositTally tally;
  for (std::int64_t block = 0; block < events.count; block += deposit_block) {
    const std::int64_t size = std::min(deposit_block, events.count - block);
    const std::int64_t tasks = (size + deposit_task - 1) / deposit_task;
    std::vector<DepositTally> tallies(static_cast<std::size_t>(tasks));
    tbb::parallel_for(std::int64_t{0}, tasks, [&](std::int64_t task) {
      const std::int64_t begin = task * deposit_task, end = std::min(size, begin + deposit_task);
      place(events, block + begin, block + end, placed.data() + begin, tallies[static_cast<std::size_t>(task)]);
    });
    for (const DepositTally& of_task : tallies) tally += of_task;
    std::vector<std::size_t> ends(views + 1, 0);  // of each view's events; first their numbers
    for (std::int64_t e = 0; e < size; ++e)
      if (const std::int32_t view = placed[static_cast<std::size_t>(e)].view; view != no_view)
        ++ends[static_cast<std::size_t>(view) + 1];
    for (std::size_t v = 0; v < views; ++v) ends[v + 1] += ends[v];
    std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
    for (std::int64_t e = 0; e < size; ++e)
      if (const Placed& event = placed[static_cast<std::size_t>(e)]; event.view != no_view)
        ordered[next[static_cast<std::size_t>(event.view)]++] = event;
    tbb::parallel_for(std::size_t{0}, views, [&](std::size_t v) {
      float* const of_view = histo + static_cast<std::int64_t>(v) * view_points_;
      for (std::size_t e = ends[v]; e < ends[v + 1]; ++e) count(ordered[e], of_view);
    });
  }
  return tally;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
