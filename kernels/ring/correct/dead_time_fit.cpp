// Straight lines through count rates: see dead_time_fit.hpp.
#include "kernels/ring/correct/dead_time_fit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "kernels/correct/decay.hpp"

namespace tofstream {

namespace {

/// y = a + b u, with the covariance of a and b.
struct WeightedLine {
  double a = 0, b = 0, var_a = 0, var_b = 0, covariance = 0;
};

struct LinePoint {
  double u, y, weight;  // 1 / variance of y
};

WeightedLine line_through(const std::vector<LinePoint>& points) {
  double w = 0, wu = 0, wy = 0;
  for (const LinePoint& p : points) w += p.weight, wu += p.weight * p.u, wy += p.weight * p.y;
  const double u = wu / w, y = wy / w;
  double uu = 0, uy = 0;
  for (const LinePoint& p : points) {
    uu += p.weight * (p.u - u) * (p.u - u);
    uy += p.weight * (p.u - u) * (p.y - y);
  }
  const double b = uy / uu;
  return {y - b * u, b, 1 / w + u * u / uu, 1 / uu, -u / uu};
}

double counted_cps(const DeadTimeFit& fit, double true_cps) {
  const double busy = true_cps * fit.dead_time_s;
  return fit.model == DeadTimeModel::paralysable ? true_cps * std::exp(-busy) : true_cps / (1 + busy);
}

}  // namespace

DeadTimeFit fit_dead_time(std::span<const CountedTime> stretches, double half_life_s, DeadTimeModel model) {
  const bool is_paralysable = model == DeadTimeModel::paralysable;
  std::vector<LinePoint> points;
  double least = INFINITY, most = 0;
  for (const CountedTime& s : stretches) {
    if (!(s.counts > 0 && s.duration_s > 0)) continue;
    const double x = mean_decay(s.start_s, s.duration_s, half_life_s), m = s.counts / s.duration_s;
    least = std::min(least, x);
    most = std::max(most, x);
    // ln m has the variance 1 / counts, 1 / m that times 1 / m^2.
    points.push_back(is_paralysable ? LinePoint{x, std::log(m / x), s.counts}
                                    : LinePoint{1 / x, 1 / m, s.counts * m * m});
  }
  if (points.size() < 3 || least > 0.9 * most)
    throw std::invalid_argument(fmt::format(
        "{} stretches with counts, over which the activity falls by {:.1f} %, give no dead time: scan while a "
        "source decays by a half or more",
        points.size(), points.empty() ? 0 : 100 * (1 - least / most)));
  const WeightedLine line = line_through(points);
  DeadTimeFit fit{.model = model, .points = static_cast<int>(points.size())};
  if (is_paralysable) {
    const double inverse = std::exp(-line.a);
    fit.true_cps = std::exp(line.a);
    fit.dead_time_s = -line.b * inverse;
    fit.error_s = inverse * std::sqrt(line.var_b + line.b * line.b * line.var_a - 2 * line.b * line.covariance);
  } else {
    fit.true_cps = 1 / line.b;
    fit.dead_time_s = line.a;
    fit.error_s = std::sqrt(line.var_a);
  }
  for (const CountedTime& s : stretches) {
    if (!(s.counts > 0 && s.duration_s > 0)) continue;
    const double expected =
        s.duration_s * counted_cps(fit, fit.true_cps * mean_decay(s.start_s, s.duration_s, half_life_s));
    fit.chi2 += (s.counts - expected) * (s.counts - expected) / expected;
  }
  return fit;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
