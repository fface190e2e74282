// What share of each subset is which part's: equal ones, or by how fast the ranks have been that project them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gadgets/step/division.hpp"
#include "gadgets/step/stragglers.hpp"

namespace tofstream {

class Dealing {
 public:
  static constexpr int window = Stragglers::window;  // subsets
  static constexpr double worth_it = 1.1, worth_it_s = 0.1;

  /// Equal shares at first, and for ever unless the division is measured, which then has one part a rank.
  explicit Dealing(const Division& division) : division_(division) {}

  /// The number of a part's first datum among so many, which follow one another by parts; of one behind the last: all.
  std::int64_t first(int part, std::int64_t count) const;

  /// The times of all ranks for one more subset. After every ten of them where the division is measured: shares in
  /// proportion to the data a second that each rank has projected, where the slowest took 1.1 times as long as all
  /// would with these, and at least 0.1 s more. A rank keeps a twentieth of an equal share, so that it can be measured
  /// again.
  void note(std::span<const RankTime> ranks);

  /// Shares of all data, by part; they sum to 1. Empty where they are equal.
  const std::vector<double>& shares() const { return shares_; }
  int changes() const { return changes_; }

 private:
  Division division_;
  std::vector<RankTime> sums_;
  int subsets_ = 0, changes_ = 0;
  std::vector<double> shares_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
