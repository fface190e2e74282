// Decay over an interval against quadrature.
#include "kernels/correct/decay.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("the mean decay over a block is the quadrature of 2^-(t / T)") {
  for (const double start : {-500.0, 0.0, 3000.0})
    for (const double duration : {1e-6, 1.0, 600.0, 7200.0}) {
      const double half_life = 1220.4;
      double sum = 0;  // the midpoint rule; its error is (duration / n / T)^2 / 12
      constexpr int n = 20000;
      for (int i = 0; i < n; ++i) sum += std::exp2(-(start + duration * (i + 0.5) / n) / half_life);
      CAPTURE(start);
      CAPTURE(duration);
      CHECK(mean_decay(start, duration, half_life) == approx(sum / n).epsilon(1e-8));
    }
  CHECK(mean_decay(600, 0, 600) == approx(0.5).epsilon(1e-14));
  CHECK_THROWS_WITH(mean_decay(0, 1, 0), doctest::Contains("half-life"));
  CHECK_THROWS_WITH(mean_decay(0, -1, 100), doctest::Contains("negative"));
}
// SPDX-License-Identifier: Apache-2.0
