// Goodness of fit: see counts_fit.hpp.
#include "kernels/analysis/counts_fit.hpp"

#include <algorithm>
#include <cmath>

namespace tofstream {

void CountsFit::add(double counted, double expected, double noise2) {
  constexpr double enough = 10;
  if (!(expected >= enough)) return;
  const double difference2 = (counted - expected) * (counted - expected);
  ++places_;
  chi2_ += difference2 / noise2;
  beyond_ += difference2 - noise2;
  squares_ += expected * expected;
}

double CountsFit::chi2_a_place(std::int64_t fitted) const {
  return places_ > fitted ? chi2_ / static_cast<double>(places_ - fitted) : 0;
}

double CountsFit::misfit() const {
  return squares_ > 0 ? std::sqrt(std::max(beyond_, 0.0) / squares_) : 0;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
