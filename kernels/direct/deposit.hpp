// Deposit of events into histo-images: each event counts at its most likely point in the histo-image of the view that
// its line belongs to (Matej et al. 2009).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// Which points of the lattice an event counts at.
enum class DepositKind {
  nearest,  // the nearest one
  linear,   // the eight around it, by linear interpolation's weights
};

/// What became of events: deposited + rejected = all.
struct DepositTally {
  std::uint64_t deposited = 0;
  std::uint64_t beyond_acceptance = 0;  // their line's co-polar angle is no view's
  std::uint64_t outside = 0;            // their point is nearer to a point beyond the lattice than to one of it
  std::uint64_t no_line = 0;            // their ends are one point, or not finite

  std::uint64_t rejected() const { return beyond_acceptance + outside + no_line; }
  DepositTally& operator+=(const DepositTally& other);
  friend bool operator==(const DepositTally&, const DepositTally&) = default;
};

class HistoDeposit {
 public:
  /// Throws std::invalid_argument for an invalid grid or views.
  HistoDeposit(const Grid& grid, const DirectViews& views, HistoLattice lattice, DepositKind kind);

  /// Floats of all views' histo-images, [view][k][j][i].
  std::int64_t points() const { return views_.count() * view_points_; }
  /// Adds 1 for each event to the histo-images, or weights of sum 1; at the lattice's border the weights of points
  /// beyond it go to the nearest one of it. Host memory. The same bits on any number of threads, and in any number of
  /// calls for the same events in their order. Throws std::invalid_argument for events without ToF.
  DepositTally add(const EventView& events, float* histo) const;

 private:
  /// An event's view, and where its point lies in the lattice.
  struct Placed {
    std::int32_t view = 0;
    float at[3] = {};
  };
  void place(const EventView& events, std::int64_t begin, std::int64_t end, Placed* placed, DepositTally& tally) const;
  void count(const Placed& event, float* histo) const;

  DirectViews views_;
  DepositKind kind_;
  std::vector<DirectLattice> lattices_;  // of views
  std::int64_t view_points_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
