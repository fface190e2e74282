// Sums and rates of singles histograms: see singles_in_time.hpp.
#include "gadgets/ring/singles_in_time.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tofstream {

void SinglesSum::add(const SinglesCounts& singles) {
  counts_.resize(std::max(counts_.size(), singles.counts.size()));
  for (std::size_t d = 0; d < singles.counts.size(); ++d) {
    counts_[d] += singles.counts[d];
    total_ += singles.counts[d];
  }
  seconds_ += singles.duration_s;
}

std::vector<double> SinglesSum::rates_cps() const {
  std::vector<double> rates;
  rates.reserve(counts_.size());
  for (const std::uint64_t count : counts_) rates.push_back(static_cast<double>(count) / seconds_);
  return rates;
}

void SinglesRate::add(const SinglesCounts& singles) {
  const auto total = std::accumulate(singles.counts.begin(), singles.counts.end(), std::uint64_t{0});
  if (singles.duration_s > 0) cps_from_s_[singles.start_s] = static_cast<double>(total) / singles.duration_s;
}

double SinglesRate::mean_square(double start_s, double duration_s) const {
  if (cps_from_s_.empty()) return 0;
  auto at = cps_from_s_.upper_bound(start_s);
  if (at != cps_from_s_.begin()) --at;
  if (!(duration_s > 0)) return at->second * at->second;
  const double end_s = start_s + duration_s;
  double sum = 0;
  for (double from_s = start_s; from_s < end_s; ++at) {
    const auto next = std::next(at);
    const double to_s = next == cps_from_s_.end() ? end_s : std::clamp(next->first, from_s, end_s);
    sum += (to_s - from_s) * at->second * at->second;
    from_s = to_s;
  }
  return sum / duration_s;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
