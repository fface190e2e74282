// Live fractions: see dead_time.hpp.
#include "kernels/correct/dead_time.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include <boost/math/special_functions/lambert_w.hpp>
#include <fmt/format.h>

namespace tofstream {

double live_fraction(double counted_cps, double dead_time_s, DeadTimeModel model) {
  if (!(counted_cps >= 0 && std::isfinite(counted_cps) && dead_time_s >= 0 && std::isfinite(dead_time_s)))
    throw std::invalid_argument(fmt::format("a rate of {} counts/s and a dead time of {} s: neither can be negative",
                                            counted_cps, dead_time_s));
  const double busy = counted_cps * dead_time_s;
  const bool is_paralysable = model == DeadTimeModel::paralysable;
  const double most = is_paralysable ? 1 / std::numbers::e : 1;
  if (is_paralysable ? busy > most : busy >= most)
    throw std::invalid_argument(
        fmt::format("{:g} counts/s are more than a dead time of {:g} s lets through ({:g} counts/s)", counted_cps,
                    dead_time_s, most / dead_time_s));
  return is_paralysable ? std::exp(boost::math::lambert_w0(-busy)) : 1 - busy;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
