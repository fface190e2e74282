// Which of the ranks that share subsets keep the others waiting.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace tofstream {

/// What a subset took a rank: its own time, without that in which it waited.
struct RankTime {
  std::int64_t data = 0;
  double seconds = 0;
};

struct Straggler {
  int rank = 0;
  double times = 1;  // as long as the median rank for as many data
};

class Stragglers {
 public:
  static constexpr int window = 10;  // subsets
  static constexpr double worth_naming = 1.2, worth_naming_s = 0.1;

  /// The times of all ranks for one more subset. After every ten: the ranks that took 1.2 times as long for a datum as
  /// the median rank (the faster one in the middle of an even number), each of them once in a run. None that
  /// cost the run less than 0.1 s.
  std::vector<Straggler> note(std::span<const RankTime> ranks);

 private:
  std::vector<RankTime> sums_;
  int subsets_ = 0;
  std::set<int> named_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
