// Singles histograms of a scan as they come: rates by detector of a stretch, and how the sum of all changes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/types/singles_counts.hpp"

namespace tofstream {

/// Counts by detector, added up over histograms.
class SinglesSum {
 public:
  void add(const SinglesCounts& singles);
  bool empty() const { return !(seconds_ > 0); }
  std::uint64_t total() const { return total_; }
  /// The rate of all detectors together.
  double cps() const { return seconds_ > 0 ? static_cast<double>(total_) / seconds_ : 0; }
  std::vector<double> rates_cps() const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  double seconds_ = 0;
};

/// The rate of all singles, histogram after histogram.
class SinglesRate {
 public:
  void add(const SinglesCounts& singles);
  /// The mean square of the rate (1/s^2) over a stretch of scan time, as randoms go with it. Each histogram's rate
  /// holds from its start until that of the next, the first one's before it too. 0 where none has come.
  double mean_square(double start_s, double duration_s) const;

 private:
  std::map<double, double> cps_from_s_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
