// The dead time of a detector from its count rate while a source of known half-life decays.
#pragma once

#include <span>

#include "kernels/correct/dead_time.hpp"

namespace tofstream {

/// Counts in a stretch of scan time.
struct CountedTime {
  double start_s = 0, duration_s = 0;
  double counts = 0;
};

struct DeadTimeFit {
  DeadTimeModel model = DeadTimeModel::non_paralysable;
  double dead_time_s = 0, error_s = 0;  // the error is that of Poisson counts
  double true_cps = 0;                  // at the scan's start
  double chi2 = 0;                      // of the counts against the model
  int points = 0;                       // stretches with counts
};

/// Weighted least squares in the form in which each model is a straight line, with x the mean decay over a stretch and
/// m the counted rate: 1/m = (1/n) (1/x) + tau for non_paralysable, ln(m/x) = ln n - n tau x for paralysable, n the
/// true rate at time 0 (the decaying-source method). Nothing but the source counts: no background. Throws
/// std::invalid_argument for fewer than three stretches with counts, or whose activity does not change by a tenth, and
/// for a half-life that is not positive.
DeadTimeFit fit_dead_time(std::span<const CountedTime> stretches, double half_life_s, DeadTimeModel model);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
