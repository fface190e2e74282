// Dead times from decaying sources: exact counts give them exactly, Poisson counts within their stated error, and the
// wrong model has the larger chi2.
#include "kernels/ring/correct/dead_time_fit.hpp"

#include <cmath>
#include <random>

#include "kernels/correct/decay.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr double fitted_half_life_s = 6584.04;

/// Forty stretches of ten minutes, without noise where `random` is null.
std::vector<CountedTime> decaying_counts(double true_cps, double tau_s, DeadTimeModel model, std::mt19937_64* random) {
  std::vector<CountedTime> all;
  for (int k = 0; k < 40; ++k) {
    CountedTime s{600.0 * k, 600, 0};
    const double n = true_cps * mean_decay(s.start_s, s.duration_s, fitted_half_life_s);
    const double mean = 600 * (model == DeadTimeModel::paralysable ? n * std::exp(-n * tau_s) : n / (1 + n * tau_s));
    s.counts = random ? static_cast<double>(std::poisson_distribution<std::int64_t>(mean)(*random)) : mean;
    all.push_back(s);
  }
  return all;
}

}  // namespace

TEST_CASE("without noise the fit of each model gives its dead time and true rate back") {
  for (const DeadTimeModel model : {DeadTimeModel::non_paralysable, DeadTimeModel::paralysable}) {
    const DeadTimeFit fit = fit_dead_time(decaying_counts(2e5, 1.7e-6, model, nullptr), fitted_half_life_s, model);
    CHECK(fit.dead_time_s == approx(1.7e-6).epsilon(1e-9));
    CHECK(fit.true_cps == approx(2e5).epsilon(1e-9));
    CHECK(fit.chi2 < 1e-6);
    CHECK(fit.points == 40);
    // The share that is live at a counted rate is what the model says.
    const double n = 1e5, m = model == DeadTimeModel::paralysable ? n * std::exp(-0.17) : n / 1.17;
    CHECK(live_fraction(m, fit.dead_time_s, model) == approx(m / n).epsilon(1e-9));
  }
}

TEST_CASE("of Poisson counts the dead time is right within its error, and the other model fits worse") {
  std::mt19937_64 random(4);
  for (const DeadTimeModel model : {DeadTimeModel::non_paralysable, DeadTimeModel::paralysable}) {
    const DeadTimeModel other =
        model == DeadTimeModel::paralysable ? DeadTimeModel::non_paralysable : DeadTimeModel::paralysable;
    double squares = 0;
    constexpr int scans = 40;
    for (int n = 0; n < scans; ++n) {
      const auto counts = decaying_counts(5e4, 3e-6, model, &random);
      const DeadTimeFit fit = fit_dead_time(counts, fitted_half_life_s, model);
      squares += std::pow((fit.dead_time_s - 3e-6) / fit.error_s, 2) / scans;
      CHECK(fit.chi2 < 80);
      CHECK(fit_dead_time(counts, fitted_half_life_s, other).chi2 > fit.chi2);
    }
    CHECK(std::sqrt(squares) == approx(1).epsilon(0.3));
  }
}

TEST_CASE("rates that hardly change give no dead time") {
  auto counts = decaying_counts(1e4, 1e-6, DeadTimeModel::paralysable, nullptr);
  counts.resize(2);
  CHECK_THROWS_WITH(fit_dead_time(counts, fitted_half_life_s, DeadTimeModel::paralysable),
                    doctest::Contains("2 stretches"));
  counts = decaying_counts(1e4, 1e-6, DeadTimeModel::paralysable, nullptr);
  CHECK_THROWS_WITH(fit_dead_time(counts, 1e9, DeadTimeModel::paralysable), doctest::Contains("give no dead time"));
  CHECK_THROWS_AS(fit_dead_time(counts, 0, DeadTimeModel::paralysable), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
