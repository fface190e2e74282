// Slow ranks: see stragglers.hpp.
#include "gadgets/step/stragglers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tofstream {

namespace {

double a_datum(const RankTime& time) {
  return time.seconds / static_cast<double>(time.data);
}

}  // namespace

std::vector<Straggler> Stragglers::note(std::span<const RankTime> ranks) {
  sums_.resize(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    sums_[rank].data += ranks[rank].data;
    sums_[rank].seconds += ranks[rank].seconds;
  }
  if (++subsets_ < window) return {};
  subsets_ = 0;
  const std::vector<RankTime> sums = std::exchange(sums_, {});
  std::vector<RankTime> at_work;
  std::ranges::copy_if(sums, std::back_inserter(at_work), [](const RankTime& time) { return time.data > 0; });
  if (at_work.size() < 2) return {};
  std::ranges::sort(at_work, {}, a_datum);
  const RankTime median = at_work[(at_work.size() - 1) / 2];
  std::vector<Straggler> slow;
  for (std::size_t rank = 0; rank < sums.size(); ++rank) {
    if (sums[rank].data == 0) continue;
    const double usual_s = a_datum(median) * static_cast<double>(sums[rank].data);
    const double times = sums[rank].seconds / usual_s;
    const bool is_worth_it = times >= worth_naming && sums[rank].seconds - usual_s >= worth_naming_s;
    if (is_worth_it && named_.insert(static_cast<int>(rank)).second)
      slow.push_back({static_cast<int>(rank), times});
  }
  return slow;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
