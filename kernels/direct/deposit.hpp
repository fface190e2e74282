// Deposit of events into histo-images: each event counts at its most likely point in the histo-image of the view that
// its line belongs to (Matej et al. 2009).
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// Which points of the lattice an event counts at.
enum class DepositKind {
  nearest,  // the nearest one
  linear,   // the eight around it, by linear interpolation's weights
};

/// Variance of an event's count about its point along each axis of the lattice, in squares of the spacing, where the
/// points of events lie anywhere between the lattice's: that of a box of one spacing, or of two such boxes.
constexpr float deposit_variance(DepositKind kind) {
  return kind == DepositKind::linear ? 1.0f / 6 : 1.0f / 12;
}

/// How far an event is spread about its point.
enum class DepositSpread {
  none,
  tof_bin,  // evenly over its ToF bin, at steps of half a point; what would lie outside the lattice is dealt out inside
};

/// What counts are kept as.
enum class HistoCounts {
  real,   // shares of events
  whole,  // 16 bits: of DepositKind::nearest without spread
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

/// An event's view, and where its point lies in the view's lattice.
struct PlacedEvent {
  static constexpr std::int32_t beyond_acceptance = -1, outside = -2, no_line = -3;
  std::int32_t view = no_line;  // or why it has none
  float at[3] = {};
};

/// An event that is spread over its ToF bin.
struct SpreadEvent : PlacedEvent {
  float along[3] = {};  // from one end of the bin to the other
  std::int32_t pieces = 1;
};

/// `lattices`: of all views. `width_mm`: of the ToF bin over which a SpreadEvent is spread; 0: it is not.
template <class Event>
TOFSTREAM_HOST_DEVICE inline Event place_event(const DirectViews& views, const DirectLattice* lattices, const Lor& lor,
                                               float width_mm = 0) {
  Event placed;
  const Vec3 along = lor.end2 - lor.end1;
  const float length = norm(along);
  if (!(std::isfinite(length) && length > 0 && std::isfinite(lor.tof_mm))) return placed;
  const DirectLine line = view_of_line(views, along);
  placed.view = PlacedEvent::beyond_acceptance;
  if (line.view < 0) return placed;
  // The point does not depend on which way the line is turned: its ToF turns with it.
  const Vec3 at = 0.5f * (lor.end1 + lor.end2) + (lor.tof_mm / length) * along;
  const DirectLattice& lattice = lattices[line.view];
  const Vec3d coordinates = lattice.coordinates(at.as<double>());
  placed.view = line.view;
  for (int axis = 0; axis < 3; ++axis) {
    placed.at[axis] = static_cast<float>(coordinates[axis]);
    if (!(placed.at[axis] >= -0.5f && placed.at[axis] < static_cast<float>(lattice.size[axis]) - 0.5f))
      placed.view = PlacedEvent::outside;
  }
  if constexpr (std::is_same_v<Event, SpreadEvent>) {
    if (placed.view < 0 || !(width_mm > 0)) return placed;
    const Vec3d end = lattice.coordinates((at + (width_mm / length) * along).as<double>());
    float longest = 0;
    for (int axis = 0; axis < 3; ++axis) {
      placed.along[axis] = static_cast<float>(end[axis] - coordinates[axis]);
      longest = std::fmax(longest, std::fabs(placed.along[axis]));
    }
    constexpr float pieces_a_point = 2, most_pieces = 256;
    placed.pieces = static_cast<std::int32_t>(std::ceil(std::fmin(pieces_a_point * longest, most_pieces)));
    placed.pieces = placed.pieces > 1 ? placed.pieces : 1;
  }
  return placed;
}

/// A piece of an event that is spread. Returns whether the lattice holds it.
TOFSTREAM_HOST_DEVICE inline bool piece_of(const DirectLattice& lattice, const SpreadEvent& event, int number,
                                           PlacedEvent& piece) {
  const float share = (static_cast<float>(number) + 0.5f) / static_cast<float>(event.pieces) - 0.5f;
  bool is_inside = true;
  for (int axis = 0; axis < 3; ++axis) {
    piece.at[axis] = event.at[axis] + share * event.along[axis];
    is_inside = is_inside && piece.at[axis] >= -0.5f && piece.at[axis] < static_cast<float>(lattice.size[axis]) - 0.5f;
  }
  return is_inside;
}

/// Calls count(point of the lattice, weight) for the points at which a placed event counts: weights of sum 1.
template <class Count>
TOFSTREAM_HOST_DEVICE inline void for_each_deposit(const DirectLattice& lattice, const PlacedEvent& event,
                                                   DepositKind kind, const Count& count) {
  if (kind == DepositKind::nearest) {
    int at[3];
    for (int axis = 0; axis < 3; ++axis) {  // half a point less than the end may round up to it
      const int point = static_cast<int>(event.at[axis] + 0.5f), last = lattice.size[axis] - 1;
      at[axis] = point > last ? last : point;
    }
    count(lattice.index(at[0], at[1], at[2]), 1.0f);
    return;
  }
  int point[3][2];
  float weight[3][2];
  for (int axis = 0; axis < 3; ++axis) {
    // The integer at or below, without a call of a library.
    const int towards_0 = static_cast<int>(event.at[axis]), last = lattice.size[axis] - 1;
    const int first = towards_0 - (event.at[axis] < static_cast<float>(towards_0) ? 1 : 0);
    const float share = event.at[axis] - static_cast<float>(first);
    point[axis][0] = first < 0 ? 0 : first;
    point[axis][1] = first + 1 > last ? last : first + 1;
    weight[axis][0] = 1 - share;
    weight[axis][1] = share;
  }
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i)
        count(lattice.index(point[0][i], point[1][j], point[2][k]), weight[0][i] * weight[1][j] * weight[2][k]);
}

template <class Count>
TOFSTREAM_HOST_DEVICE inline void for_each_deposit(const DirectLattice& lattice, const SpreadEvent& event,
                                                   DepositKind kind, const Count& count) {
  const PlacedEvent& whole = event;
  int inside = 0;
  PlacedEvent piece;
  for (int n = 0; n < event.pieces && event.pieces > 1; ++n) inside += piece_of(lattice, event, n, piece);
  if (inside == 0) return for_each_deposit(lattice, whole, kind, count);
  const float share = 1 / static_cast<float>(inside);
  for (int n = 0; n < event.pieces; ++n)
    if (piece_of(lattice, event, n, piece))
      for_each_deposit(lattice, piece, kind, [&](std::int64_t point, float weight) { count(point, share * weight); });
}

class HistoDeposit {
 public:
  /// Throws std::invalid_argument for an invalid grid or views.
  HistoDeposit(const Grid& grid, const DirectViews& views, HistoLattice lattice, DepositKind kind,
               DepositSpread spread = DepositSpread::none);

  /// Floats of all views' histo-images, [view][k][j][i].
  std::int64_t points() const { return views_.count() * view_points_; }
  /// Adds 1 for each event to the histo-images, or weights of sum 1; at the lattice's border the weights of points
  /// beyond it go to the nearest one of it. Host memory. The same bits on any number of threads, and in any number of
  /// calls for the same events in their order. `of_views`, unless null: the number of events of each view is added
  /// there. Throws std::invalid_argument for events without ToF.
  DepositTally add(const EventView& events, float* histo, std::uint64_t* of_views = nullptr) const;
  /// The same in whole numbers. Throws std::invalid_argument unless events are deposited whole, and std::runtime_error
  /// where a point has more than 65535: the counts are then of no use.
  DepositTally add(const EventView& events, std::uint16_t* histo, std::uint64_t* of_views = nullptr) const;

 private:
  template <class T>
  DepositTally add_to(const EventView& events, T* histo, std::uint64_t* of_views) const {
    return spread_ == DepositSpread::none ? add_placed<PlacedEvent>(events, histo, of_views)
                                          : add_placed<SpreadEvent>(events, histo, of_views);
  }
  template <class Event, class T>
  DepositTally add_placed(const EventView& events, T* histo, std::uint64_t* of_views) const;
  template <class Event>
  void place(const EventView& events, std::int64_t begin, std::int64_t end, Event* placed, DepositTally& tally) const;

  DirectViews views_;
  DepositKind kind_;
  DepositSpread spread_;
  std::vector<DirectLattice> lattices_;  // of views
  std::int64_t view_points_ = 0;
};

/// Throws std::invalid_argument unless counts of these are whole.
void require_whole_deposit(DepositKind kind, DepositSpread spread);
/// What is thrown where a point has more counts than fit.
[[noreturn]] void refuse_overflow();

/// The same on a GPU, which keeps the histo-images: whole numbers of 2^-24 events, so that the sums are the same in any
/// order; or of events, in 16 bits.
class HistoDepositCuda {
 public:
  /// Throws as HistoDeposit does, and std::runtime_error for a missing GPU.
  HistoDepositCuda(const Grid& grid, const DirectViews& views, HistoLattice lattice, DepositKind kind,
                   DepositSpread spread = DepositSpread::none, HistoCounts counts = HistoCounts::real);

  std::int64_t points() const { return views_.count() * view_points_; }
  /// Of events in device memory; waits for them. `of_views`: as HistoDeposit::add, in host memory.
  DepositTally add(const EventView& events, std::uint64_t* of_views = nullptr, Stream stream = nullptr);
  /// The histo-images so far, in device memory. Queued on the stream.
  Buffer<float> counts(Stream stream = nullptr) const {
    Buffer<float> all(Memory::device, points(), stream);
    copy_counts(0, views_.count(), all.data(), stream);
    return all;
  }
  /// Those of `count` views from `first` on, to `counts` in device memory. Queued on the stream.
  void copy_counts(int first, int count, float* counts, Stream stream = nullptr) const;
  /// Of HistoCounts::whole, to memory of any kind.
  void copy_whole_counts(int first, int count, std::uint16_t* counts, Memory memory, Stream stream = nullptr) const;

 private:
  DirectViews views_;
  DepositKind kind_;
  DepositSpread spread_;
  std::int64_t view_points_ = 0;
  Buffer<DirectLattice> lattices_;
  Buffer<std::uint64_t> sums_, tallies_;
  Buffer<std::uint32_t> whole_;  // two points each; empty: sums_ are the counts
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
