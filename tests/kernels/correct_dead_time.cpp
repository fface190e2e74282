// Dead time: the live fraction inverts each model, and what no true rate gives is refused.
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <doctest/doctest.h>

#include "kernels/correct/dead_time.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("the live fraction of counted rates gives back the true rates of both models") {
  const double tau_s = 4e-6;
  for (const double rate : {0.0, 1e2, 2e4, 1e5, 2.4e5}) {  // the paralysable model counts most at 2.5e5
    CAPTURE(rate);
    const double lost = rate / (1 + rate * tau_s), kept_busy = rate * std::exp(-rate * tau_s);
    CHECK(live_fraction(lost, tau_s, DeadTimeModel::non_paralysable) * rate == approx(lost).epsilon(1e-12));
    CHECK(live_fraction(kept_busy, tau_s, DeadTimeModel::paralysable) * rate == approx(kept_busy).epsilon(1e-9));
  }
  CHECK(live_fraction(1e6, 0, DeadTimeModel::paralysable) == 1);
}

TEST_CASE("both models agree at low rates, to the square of the lost fraction") {
  const double lost = 1e4 * 1e-6;
  CHECK(live_fraction(1e4, 1e-6, DeadTimeModel::paralysable) ==
        approx(live_fraction(1e4, 1e-6, DeadTimeModel::non_paralysable)).epsilon(lost * lost));
}

TEST_CASE("rates that no true rate gives are refused, at the limit of each model") {
  const double tau_s = 1e-5, most = 1 / tau_s;
  CHECK(live_fraction(0.999 * most, tau_s, DeadTimeModel::non_paralysable) == approx(0.001));
  CHECK_THROWS_WITH_AS(live_fraction(1.0001 * most, tau_s, DeadTimeModel::non_paralysable),
                       "100010 counts/s are more than a dead time of 1e-05 s lets through (100000 counts/s)",
                       std::invalid_argument);
  CHECK(live_fraction(0.9999 * most / std::numbers::e, tau_s, DeadTimeModel::paralysable) ==
        approx(1 / std::numbers::e).epsilon(0.02));
  CHECK_THROWS_AS(live_fraction(1.0001 * most / std::numbers::e, tau_s, DeadTimeModel::paralysable),
                  std::invalid_argument);
  CHECK_THROWS_AS(live_fraction(1, -1, DeadTimeModel::paralysable), std::invalid_argument);
  CHECK_THROWS_AS(live_fraction(-1, 1e-6, DeadTimeModel::non_paralysable), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
