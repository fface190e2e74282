// Bins and pairs of detectors: see bins.hpp.
#include "gadgets/io/interfile/bins.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tofstream::interfile {
namespace {

int floor_half(int n) {
  return n >= 0 ? n / 2 : -((1 - n) / 2);
}

int modulo(int n, int d) {
  return (n % d + d) % d;
}

}  // namespace

std::string in_words(const BinPlace& place) {
  return fmt::format("segment {} of the list, view {}, axial position {}, tangential position {}", place.segment + 1,
                     place.view, place.position, place.tangential);
}

Bins::Bins(const ProjectionHeader& header)
    : segments_(header.segments),
      segment_of_difference_(static_cast<std::size_t>(2 * header.scanner.rings - 1), -1),
      order_(header.order),
      ring_count_(header.scanner.rings),
      detector_count_(header.scanner.detectors),
      views_(header.views),
      mashing_(header.mashing()),
      tangential_(header.tangential),
      are_pairs_(mashing_ == 1 && std::ranges::none_of(segments_, &Segment::is_compressed)) {
  begins_.push_back(0);
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const Segment& segment = segments_[s];
    begins_.push_back(begins_.back() + std::int64_t{segment.positions} * views_ * tangential_);
    for (int difference = segment.least_difference; difference <= segment.most_difference; ++difference)
      segment_of_difference_[static_cast<std::size_t>(difference + ring_count_ - 1)] = static_cast<int>(s);
    auto& of_positions = rings_.emplace_back(static_cast<std::size_t>(segment.positions));
    for (int position = 0; position < segment.positions; ++position) {
      const int sum = first_sum(segment) + (segment.is_compressed() ? 1 : 2) * position;
      for (int difference = segment.least_difference; difference <= segment.most_difference; ++difference) {
        if (modulo(sum + difference, 2) != 0) continue;
        const RingPair pair{(sum - difference) / 2, (sum + difference) / 2};
        if (std::min(pair.ring1, pair.ring2) >= 0 && std::max(pair.ring1, pair.ring2) < ring_count_)
          of_positions[static_cast<std::size_t>(position)].push_back(pair);
      }
    }
  }
}

int Bins::first_sum(const Segment& segment) const {
  return ring_count_ - 1 - (segment.is_compressed() ? (segment.positions - 1) / 2 : segment.positions - 1);
}

BinPlace Bins::place(std::int64_t bin) const {
  const auto after = std::ranges::upper_bound(begins_, bin);
  const auto segment = static_cast<std::size_t>(after - begins_.begin() - 1);
  const std::int64_t local = bin - begins_[segment];
  const std::int64_t row = local / tangential_;
  const int inner = order_ == AxisOrder::views ? segments_[segment].positions : views_;
  const int fast = static_cast<int>(row % inner), slow = static_cast<int>(row / inner);
  return {.segment = static_cast<int>(segment),
          .view = order_ == AxisOrder::views ? slow : fast,
          .position = order_ == AxisOrder::views ? fast : slow,
          .tangential = static_cast<int>(local % tangential_) - tangential_ / 2};
}

std::int64_t Bins::number(const BinPlace& place) const {
  const auto segment = static_cast<std::size_t>(place.segment);
  const std::int64_t row = order_ == AxisOrder::views
                               ? std::int64_t{place.view} * segments_[segment].positions + place.position
                               : std::int64_t{place.position} * views_ + place.view;
  return begins_[segment] + row * tangential_ + place.tangential + tangential_ / 2;
}

std::span<const RingPair> Bins::rings(int segment, int position) const {
  return rings_[static_cast<std::size_t>(segment)][static_cast<std::size_t>(position)];
}

std::pair<int, int> Bins::detectors(int view, int joined, int tangential) const {
  const int v = view * mashing_ + joined;
  return {modulo(v + floor_half(tangential), detector_count_),
          modulo(v - floor_half(tangential + 1) + detector_count_ / 2, detector_count_)};
}

// From the formulas of bins.hpp: detector 1 - detector 2 = t - N/2 and detector 1 + detector 2 = 2 v - (t mod 2) + N/2,
// modulo N; of t and t +- N, which is the same line turned round, one lies among the data's views.
std::optional<Bins::PairBin> Bins::bin_of(int detector_a, int ring_a, int detector_b, int ring_b) const {
  const int half = detector_count_ / 2;
  PairBin result;
  int tangential = modulo(detector_a - detector_b + half, detector_count_);  // 0 .. N - 1
  int view = modulo(detector_a - floor_half(tangential), detector_count_);   // 0 .. N - 1
  if (tangential > half || (tangential == half && view >= half)) {           // the same pair at t - N
    tangential -= detector_count_;
    view = modulo(detector_a - floor_half(tangential), detector_count_);
  }
  if (view >= half) {  // turned round: detector 1 is b
    result.is_swapped = true;
    std::swap(ring_a, ring_b);
    tangential = -tangential;
    view = modulo(detector_b - floor_half(tangential), detector_count_);
  }
  if (view >= half || tangential < -(tangential_ / 2) || tangential >= tangential_ - tangential_ / 2) return {};
  const int segment = segment_of_difference_[static_cast<std::size_t>(ring_b - ring_a + ring_count_ - 1)];
  if (segment < 0) return {};
  const Segment& joined = segments_[static_cast<std::size_t>(segment)];
  const int above = ring_a + ring_b - first_sum(joined);
  const int position = joined.is_compressed() ? above : above / 2;
  if (above < 0 || position >= joined.positions) return {};
  result.bin = number({segment, view / mashing_, position, tangential});
  return result;
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
