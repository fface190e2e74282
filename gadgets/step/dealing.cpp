// Shares by speed: see dealing.hpp.
#include "gadgets/step/dealing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/types/parts.hpp"

namespace tofstream {

std::int64_t Dealing::first(int part, std::int64_t count) const {
  if (shares_.empty()) return Part{part, division_.parts}.first(count);
  if (part >= division_.parts) return count;
  const double before = std::accumulate(shares_.begin(), shares_.begin() + part, 0.0);
  return std::min<std::int64_t>(count, std::llround(before * static_cast<double>(count)));
}

void Dealing::note(std::span<const RankTime> ranks) {
  if (!division_.is_measured) return;
  sums_.resize(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    sums_[rank].data += ranks[rank].data;
    sums_[rank].seconds += ranks[rank].seconds;
  }
  if (++subsets_ < window) return;
  subsets_ = 0;
  const std::vector<RankTime> sums = std::exchange(sums_, {});
  if (std::ranges::any_of(sums, [](const RankTime& time) { return time.data == 0 || !(time.seconds > 0); })) return;

  double slowest_s = 0, data = 0, speed = 0;
  for (const RankTime& time : sums) {
    slowest_s = std::max(slowest_s, time.seconds);
    data += static_cast<double>(time.data);
    speed += static_cast<double>(time.data) / time.seconds;
  }
  const double all_alike_s = data / speed;
  if (slowest_s < worth_it * all_alike_s || slowest_s - all_alike_s < worth_it_s) return;
  const double least = 0.05 / static_cast<double>(sums.size());
  std::vector<double> shares;
  for (const RankTime& time : sums)
    shares.push_back(std::max(static_cast<double>(time.data) / time.seconds / speed, least));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  shares_ = std::move(shares);
  ++changes_;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
