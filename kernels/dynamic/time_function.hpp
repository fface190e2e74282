// What is known of an activity over scan time, such as that of plasma.
#pragma once

#include <vector>

namespace tofstream {

/// A function of scan time that is linear between its times, and rises from 0 at the scan's start to the first of them.
class TimeFunction {
 public:
  /// Times in s, ascending and not negative; values that are not negative. Throws std::invalid_argument for fewer than
  /// two times, another number of values, times that do not ascend, and what is negative or not finite.
  TimeFunction(std::vector<double> time_s, std::vector<double> value);

  /// The part of int_0^t f that comes of the rise from 0 to the first time, which nobody measured.
  double assumed_integral() const { return assumed_; }
  double end_s() const { return time_s_.back(); }
  /// The mean of f over a stretch of time, and that of int_0^t f; exact for what is linear in between. Beyond the last
  /// time nothing is known: a stretch must end before.
  double mean(double start_s, double end_s) const;
  double mean_of_integral(double start_s, double end_s) const;

 private:
  // int_0^t f, and its own integral.
  struct Integrals {
    double once = 0, twice = 0;
  };
  Integrals until(double time_s) const;

  std::vector<double> time_s_, value_;
  std::vector<Integrals> at_;  // the times
  double assumed_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
