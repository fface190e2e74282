// Decay factors: see decay.hpp.
#include "kernels/correct/decay.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

double mean_decay(double start_s, double duration_s, double half_life_s) {
  if (!(half_life_s > 0 && std::isfinite(half_life_s)))
    throw std::invalid_argument(fmt::format("a half-life must be finite and positive, not {} s", half_life_s));
  if (!(duration_s >= 0))
    throw std::invalid_argument(fmt::format("decay over {} s: a duration cannot be negative", duration_s));
  const double rate = std::numbers::ln2 / half_life_s, at_start = std::exp(-rate * start_s);
  const double x = rate * duration_s;
  return x > 0 ? at_start * -std::expm1(-x) / x : at_start;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
