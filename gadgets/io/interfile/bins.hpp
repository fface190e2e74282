// Which pairs of detectors a bin of projection data joins, and which bin a pair belongs to. With N detectors a ring, view
// v and tangential position t (counted from minus half of their number), both of the scanner's own sampling,
//
//   detector 1 = (v + floor(t / 2)) mod N        detector 2 = (v - floor((t + 1) / 2) + N / 2) mod N
//
// and along the axis, with R rings and A positions in a segment, position a joins all pairs of rings with ring 2 - ring 1
// within the segment's differences and
//
//   ring 1 + ring 2 = R - 1 + 2 a - (A - 1), or R - 1 + a - (A - 1) / 2 where the segment joins several differences
//
// (UCL/STIR, commit 9a59610: ProjDataInfoCylindricalNoArcCorr.cxx, ProjDataInfoCylindrical.cxx).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gadgets/io/interfile/projection_header.hpp"

namespace tofstream::interfile {

/// Where a bin lies; `segment` counts in the file's order, `tangential` from minus half of their number.
struct BinPlace {
  int segment = 0, view = 0, position = 0, tangential = 0;
};
std::string in_words(const BinPlace& place);

struct RingPair {
  int ring1 = 0, ring2 = 0;
};

class Bins {
 public:
  explicit Bins(const ProjectionHeader& header);

  /// Bins of one ToF position, which are numbered in the file's order.
  std::int64_t size() const { return begins_.back(); }
  BinPlace place(std::int64_t bin) const;
  /// Bins that follow one another with the same segment, view and axial position.
  std::int64_t row_size() const { return tangential_; }
  std::int64_t number(const BinPlace& place) const;
  /// Bins of one segment follow one another.
  std::int64_t begin(int segment) const { return begins_[static_cast<std::size_t>(segment)]; }
  /// Whether each bin is one pair of detectors.
  bool are_pairs() const { return are_pairs_; }

  /// The rings that a place joins; none for some at the ends of the axis.
  std::span<const RingPair> rings(int segment, int position) const;
  /// Pairs of detectors that a bin joins.
  int pairs(const BinPlace& place) const {
    return mashing_ * static_cast<int>(rings(place.segment, place.position).size());
  }
  int mashing() const { return mashing_; }
  /// The detectors of one of the views that a view joins, 0 <= joined < mashing().
  std::pair<int, int> detectors(int view, int joined, int tangential) const;

  struct PairBin {
    std::int64_t bin = 0;
    bool is_swapped = false;  // detector 1 of the bin is b, so that ToF changes its sign
  };
  /// The bin of two detectors, each in its ring; nothing where the data have none.
  std::optional<PairBin> bin_of(int detector_a, int ring_a, int detector_b, int ring_b) const;

 private:
  int first_sum(const Segment& segment) const;

  std::vector<Segment> segments_;
  std::vector<std::int64_t> begins_;                       // of each segment, and the end
  std::vector<std::vector<std::vector<RingPair>>> rings_;  // [segment][position]
  std::vector<int> segment_of_difference_;                 // from -(rings - 1) on; -1: none
  AxisOrder order_;
  int ring_count_, detector_count_, views_, mashing_, tangential_;
  bool are_pairs_;
};

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
