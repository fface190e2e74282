// Randoms of a scan whose activity falls to a tenth (Rb-82, 5 minutes), from singles and from delayeds, against the
// truth; which interval a live stream takes; and histograms that give no rates.
#include "gadgets/ring/randoms_in_time.hpp"

#include <cmath>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/small_ring.hpp"

using namespace tofstream;

namespace {

constexpr double randoms_at_start_cps = 40'000, fit_every_s = 50, whole_s = 250;

/// The batches of a decaying scan, 5 s each.
const std::vector<SimulatedEvents>& decaying_scan() {
  static const std::vector<SimulatedEvents> scan = [] {
    RingScanner ring = testing::small_ring();
    ring.crystal_efficiency_spread = 0.4;
    Solid ball(Shape::ellipsoid, {}, {30, 30, 30});
    ball.activity_Bq_mL = 1000;
    EventSimulator simulator(ring, Phantom("ball", {ball}),
                             {.randoms_cps = randoms_at_start_cps,
                              .delayeds = true,
                              .singles = true,
                              .half_life_s = half_life_s("Rb-82", Emission::positrons)});
    std::vector<SimulatedEvents> made;
    for (double at_s = 0; at_s < whole_s; at_s += 5) made.push_back(simulator.next_seconds(5));
    return made;
  }();
  return scan;
}

EventBatch singles_batch(const std::shared_ptr<const Scanner>& scanner, std::shared_ptr<const SinglesCounts> singles) {
  EventBatch batch;
  batch.scanner = scanner;
  batch.detectors = scanner->detectors;
  batch.singles = std::move(singles);
  return batch;
}

RandomsInTime estimated_randoms(RandomsFrom from) {
  RandomsInTime randoms({.from = from, .interval_s = fit_every_s}, 0);
  for (const SimulatedEvents& made : decaying_scan()) {
    if (from == RandomsFrom::singles)
      randoms.add_singles(singles_batch(made.events.scanner, made.singles));
    else
      randoms.add_delayeds(made.delayeds);
    randoms.add_prompts(made.events);
  }
  randoms.finish();
  return randoms;
}

/// A time without events.
EventBatch time_without_events(double start_s, double duration_s) {
  EventBatch batch = decaying_scan().front().events.without_arrays();
  batch.start_s = start_s;
  batch.duration_s = duration_s;
  batch.count = 0;
  return batch;
}

struct RandomsComparison {
  double rms = 0, noise = 0, mean = 0, mean_error = 0;
};

/// The rates of many pairs in an interval, relative to the truth. `counts_of(d)`: expected counts of a detector, whose
/// noise the rates have.
template <class CountsOf>
RandomsComparison compare_randoms(const RandomsInTime& randoms, double start_s, const CountsOf& counts_of) {
  const Scanner& scanner = *decaying_scan().front().events.scanner;
  const RandomsModel truth = randoms_of_rate(scanner, randoms_at_start_cps);
  const double square = mean_decay(start_s, fit_every_s, 0.5 * half_life_s("Rb-82", Emission::positrons));
  const RandomsInTime::Rate rate = randoms.of(time_without_events(start_s, fit_every_s));
  RandomsComparison result;
  double pairs = 0, noise2 = 0, counts = 0;
  for (std::uint32_t a = 0; a < 512; ++a) {
    counts += counts_of(a);
    for (std::uint32_t b = 0; b < a; b += 3) {
      if (!scanner.in_coincidence(a, b)) continue;
      const double deviation =
          rate.scale * static_cast<double>(rate.model->rate(a, b)) / (square * static_cast<double>(truth.rate(a, b))) -
          1;
      result.rms += deviation * deviation;
      result.mean += deviation;
      noise2 += 1 / counts_of(a) + 1 / counts_of(b);
      ++pairs;
    }
  }
  result.rms = std::sqrt(result.rms / pairs);
  result.noise = std::sqrt(noise2 / pairs);
  result.mean /= pairs;
  result.mean_error = 2 / std::sqrt(counts);
  return result;
}

}  // namespace

TEST_CASE("randoms from singles and from delayeds are right within 1.2 times their noise in each interval of Rb-82") {
  const RandomsInTime by_singles = estimated_randoms(RandomsFrom::singles),
                      by_delayeds = estimated_randoms(RandomsFrom::delayeds);
  const double half_life = half_life_s("Rb-82", Emission::positrons);
  CHECK(mean_decay(whole_s, 0, half_life) == approx(0.1).epsilon(0.02));
  const Scanner& scanner = *decaying_scan().front().events.scanner;
  const RandomsModel truth = randoms_of_rate(scanner, randoms_at_start_cps);
  const std::vector<double> fans = CoincidenceSums(scanner).fans({truth.factor.begin(), truth.factor.end()});
  const double window_s = decaying_scan().front().singles->window_s;
  for (double start_s = 0; start_s < whole_s; start_s += fit_every_s) {
    CAPTURE(start_s);
    const auto singles_of = [&](std::uint32_t d) {
      return static_cast<double>(truth.factor[d]) / std::sqrt(window_s) * fit_every_s *
             mean_decay(start_s, fit_every_s, half_life);
    };
    const auto delayeds_of = [&](std::uint32_t d) {
      return static_cast<double>(truth.factor[d]) * fans[d] * fit_every_s *
             mean_decay(start_s, fit_every_s, 0.5 * half_life);
    };
    const RandomsComparison singles = compare_randoms(by_singles, start_s, singles_of),
                            delayeds = compare_randoms(by_delayeds, start_s, delayeds_of);
    CHECK(singles.rms < 1.2 * singles.noise);
    CHECK(delayeds.rms < 1.2 * delayeds.noise);
    CHECK(singles.rms < 0.5 * delayeds.noise);  // there are more singles than delayeds
    CHECK(std::abs(singles.mean - delayeds.mean) < 4 * std::hypot(singles.mean_error, delayeds.mean_error));
  }
  for (const RandomsInTime* randoms : {&by_singles, &by_delayeds}) {
    const std::vector<double> cps = randoms->cps_of_intervals();
    REQUIRE(cps.size() == 5);
    CHECK(randoms->intervals_without() == 0);
    for (std::size_t k = 0; k < cps.size(); ++k) {
      const double expected =
          randoms_at_start_cps * mean_decay(fit_every_s * static_cast<double>(k), fit_every_s, 0.5 * half_life);
      CHECK(cps[k] == approx(expected).epsilon(4 / std::sqrt(expected * fit_every_s)));
    }
  }
}

TEST_CASE("within an interval randoms of singles follow the square of the rate of all singles") {
  const RandomsInTime randoms = estimated_randoms(RandomsFrom::singles);
  const double half_life = half_life_s("Rb-82", Emission::positrons);
  const double first = randoms.of(time_without_events(0, 5)).scale, last = randoms.of(time_without_events(45, 5)).scale;
  CHECK(last / first == approx(std::exp2(-2 * 45 / half_life)).epsilon(0.01));
}

TEST_CASE("events of a live stream take the last interval before theirs that has counts, and their own at first") {
  RandomsInTime randoms({.from = RandomsFrom::singles, .use = RandomsUse::so_far, .interval_s = fit_every_s}, 0);
  std::vector<std::shared_ptr<const RandomsModel>> models;
  for (const SimulatedEvents& made : decaying_scan()) {
    randoms.add_singles(singles_batch(made.events.scanner, made.singles));
    randoms.add_prompts(made.events);
    randoms.fit(made.events);
    const RandomsInTime::Rate rate = randoms.of(made.events);
    if (models.empty() || models.back() != rate.model) models.push_back(rate.model);
    if (made.events.start_s < fit_every_s) continue;
    // The total at that time is known by the histogram of that time.
    const double truth = mean_decay(made.events.start_s, 5, 0.5 * half_life_s("Rb-82", Emission::positrons));
    const double total =
        CoincidenceSums(*made.events.scanner).total({rate.model->factor.begin(), rate.model->factor.end()});
    CHECK(rate.scale * total / randoms_at_start_cps == approx(truth).epsilon(0.02));
  }
  CHECK(models.size() > 4);   // a fit for each of the earlier intervals
  CHECK(models.size() < 20);  // and some of the first one as it grew
}

TEST_CASE("singles that give no rate of each detector are refused in one line") {
  const auto scanner = decaying_scan().front().events.scanner;
  const SinglesCounts good = *decaying_scan().front().singles;
  const auto refused = [&](RandomsParams params, const SinglesCounts& singles, const char* words) {
    RandomsInTime randoms(params, 0);
    CAPTURE(words);
    CHECK_THROWS_WITH(randoms.add_singles(singles_batch(scanner, std::make_shared<const SinglesCounts>(singles))),
                      doctest::Contains(words));
  };
  SinglesCounts by_module = good, no_window = good, no_time = good;
  by_module.unusable = "the singles histograms are by module";
  no_window.window_s = 0;
  no_time.duration_s = 0;
  refused({.from = RandomsFrom::singles}, by_module,
          "randoms cannot be estimated from singles: the singles histograms");
  refused({.from = RandomsFrom::singles}, no_window, "give randoms.window_ns");
  refused({.from = RandomsFrom::singles}, no_time, "covers no time");
  RandomsInTime given({.from = RandomsFrom::singles, .window_ns = 8}, 0);
  given.add_singles(singles_batch(scanner, std::make_shared<const SinglesCounts>(no_window)));
  CHECK(given.in_words() == "singles, window 8 ns, all coincidences kept");
}

TEST_CASE("a recording without singles histograms cannot be corrected by them") {
  RegisteredGadgetTest<EventBatch> gadget("event_corrections",
                                          "{randoms: {from: singles}, reference_s: 1, backend: cpu}");
  gadget.send(decaying_scan().front().events.to(Memory::host));
  CHECK_THROWS_WITH(gadget.finish(), doctest::Contains("no singles histogram came"));
  CHECK_THROWS_WITH(
      (RegisteredGadgetTest<EventBatch>("event_corrections", "{randoms: {from: rate, rate_cps: 1, window_ns: 3}}")),
      doctest::Contains("`window_ns` goes with `from: singles`"));
}

TEST_CASE("event_corrections takes singles and says what it did") {
  RegisteredGadgetTest<EventBatch> gadget("event_corrections",
                                          "{randoms: {from: singles, interval_s: 50}, reference_s: 1, backend: cpu}");
  for (const SimulatedEvents& made : decaying_scan()) {
    gadget.send(singles_batch(made.events.scanner, made.singles));
    gadget.send(made.events.to(Memory::host));
  }
  gadget.finish();
  REQUIRE(gadget.out.all().size() == decaying_scan().size() + 1);  // an announcement; singles do not pass
  const auto batch = gadget.out.pointer(1);
  const Scanner& scanner = *batch->scanner;
  const RandomsModel truth = randoms_of_rate(scanner, randoms_at_start_cps);
  const double square = mean_decay(0, 5, 0.5 * half_life_s("Rb-82", Emission::positrons));
  double ratio = 0, counted = 0;
  for (std::int64_t i = 0; i < batch->count; i += 50) {
    const double expected = square * static_cast<double>(truth.rate(batch->detector1[i], batch->detector2[i])) / 21;
    ratio += static_cast<double>(batch->additive[i]) * static_cast<double>(batch->multiplicative[i]) / expected;
    ++counted;
  }
  CHECK(ratio / counted == approx(1).epsilon(0.02));
  CHECK(std::get<std::string>(gadget.context.figures().at("randoms_from")) ==
        fmt::format("singles, window {:g} ns, all coincidences kept", 1e9 * decaying_scan().front().singles->window_s));
  CHECK(std::get<std::int64_t>(gadget.context.figures().at("singles_histograms")) == 50);
  CHECK(batch->quantity->corrections[static_cast<std::size_t>(Correction::randoms)].state == CorrectionState::made);
}
// SPDX-License-Identifier: Apache-2.0
