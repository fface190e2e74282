// How well expected counts explain those that were counted, place by place.
#pragma once

#include <cstdint>

namespace tofstream {

class CountsFit {
 public:
  /// `noise2`: the variance of counted - expected. Places where fewer than 10 counts are expected tell nothing.
  void add(double counted, double expected, double noise2);

  std::int64_t places() const { return places_; }
  /// The sum of (counted - expected)^2 / variance.
  double chi2() const { return chi2_; }
  /// About 1 for a right model of which so many parameters were fitted to the same counts; 0 where there are not more
  /// places than these.
  double chi2_a_place(std::int64_t fitted = 0) const;
  /// The RMS of counted / expected - 1 beyond noise, weighted by the square of what is expected.
  double misfit() const;

 private:
  std::int64_t places_ = 0;
  double chi2_ = 0, beyond_ = 0, squares_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
