// A simulated scan whose activity decays: trues fall with it, randoms and delayeds with its square, and singles are
// those that make the randoms.
#include <cmath>
#include <numeric>

#include "kernels/correct/decay.hpp"
#include "kernels/ring/correct/singles_randoms.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/kernels/ring/correct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr double fall_half_life_s = 20;

EventSimulator decaying(SimulationOptions options) {
  RingScanner ring = small_ring();
  ring.crystal_efficiency_spread = 0.4;
  Solid ball(Shape::ellipsoid, {}, {20, 20, 20});
  ball.activity_Bq_mL = 10'000;
  const Phantom phantom("ball", {ball});
  options.half_life_s = fall_half_life_s;
  return {ring, phantom, options};
}

/// Within so many standard deviations of Poisson counts.
void check_counts(double counted, double expected) {
  CAPTURE(counted);
  CAPTURE(expected);
  CHECK(std::abs(counted - expected) < 4 * std::sqrt(expected));
}

}  // namespace

TEST_CASE("trues fall with the activity, randoms and delayeds with its square") {
  EventSimulator simulator = decaying({.randoms_cps = 3000, .delayeds = true});
  const auto first = simulator.next_seconds(10);
  simulator.next_seconds(30);
  const auto last = simulator.next_seconds(10);
  CHECK(last.events.start_s == approx(40));
  const double fall = std::exp2(-40 / fall_half_life_s);
  check_counts(static_cast<double>(last.truth.trues), fall * static_cast<double>(first.truth.trues));
  for (const auto* made : {&first, &last}) {
    const double expected = 10 * 3000 * mean_decay(made->events.start_s, 10, 0.5 * fall_half_life_s);
    check_counts(static_cast<double>(made->truth.randoms), expected);
    check_counts(static_cast<double>(made->delayeds.count), expected);
  }
  CHECK(last.truth.decays == approx(fall * first.truth.decays).epsilon(1e-9));
}

TEST_CASE("a batch by count takes the longer the less activity is left, until there is none") {
  EventSimulator simulator = decaying({});
  const auto first = simulator.next_events(2000);
  simulator.next_seconds(2 * fall_half_life_s - first.events.duration_s);
  const auto later = simulator.next_events(1000);
  CHECK(later.events.duration_s / first.events.duration_s == approx(2).epsilon(0.15));
  CHECK_THROWS_WITH(simulator.next_events(100'000'000), doctest::Contains("the activity has decayed after"));
}

TEST_CASE("simulated singles make the simulated randoms") {
  EventSimulator simulator = decaying({.randoms_cps = 5000, .singles = true});
  simulator.next_seconds(15);
  const auto made = simulator.next_seconds(5);
  REQUIRE(made.singles != nullptr);
  CHECK(made.singles->start_s == approx(15));
  CHECK(made.singles->duration_s == 5);
  CHECK_FALSE(made.singles->multiples_rejected);
  std::vector<double> cps;
  for (const auto count : made.singles->counts) cps.push_back(static_cast<double>(count) / 5);
  const Scanner& scanner = *simulator.scanner();
  const RandomsModel model = randoms_from_singles(scanner, cps, made.singles->window_s);
  const double total = CoincidenceSums(scanner).total({model.factor.begin(), model.factor.end()});
  const double activity = mean_decay(15, 5, fall_half_life_s);
  CHECK(total == approx(5000 * activity * activity).epsilon(0.01));
  // Crystals differ as their efficiencies do.
  const RandomsModel truth = randoms_of_rate(scanner, 5000);
  for (const std::uint32_t d : {3u, 77u, 400u}) {
    const double expected = static_cast<double>(truth.factor[d]) / std::sqrt(made.singles->window_s) * activity * 5;
    check_counts(static_cast<double>(made.singles->counts[d]), expected);
  }
}

TEST_CASE("singles need randoms, and a half-life cannot be negative") {
  CHECK_THROWS_WITH(decaying({.singles = true}), doctest::Contains("give randoms_cps"));
  CHECK_THROWS_WITH(EventSimulator(small_ring(), decaying({}).phantom(), {.half_life_s = -1}),
                    doctest::Contains("half_life_s"));
}
// SPDX-License-Identifier: Apache-2.0
