// What the simulator adds to trues: randoms and delayeds with unequal crystals, and pairs that stand for scatter.
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/kernels/ring/correct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

Phantom ball(double activity, double radius_mm = 20, double mu = 0) {
  Solid solid(Shape::ellipsoid, {}, {radius_mm, radius_mm, radius_mm});
  solid.activity_Bq_mL = activity;
  if (mu > 0) solid.mu_per_cm = mu;
  return Phantom("ball", {solid});
}

bool same_lines(const EventBatch& a, const EventBatch& b) {
  return a.detector1.to_vector() == b.detector1.to_vector() && a.detector2.to_vector() == b.detector2.to_vector() &&
         a.tof_mm.to_vector() == b.tof_mm.to_vector();
}

}  // namespace

TEST_CASE("delayeds come at the randoms' rate, independent of the prompts and without changing them") {
  SimulationOptions options{.seed = 5, .randoms_cps = 2e5};
  EventSimulator plain(small_ring(), ball(1e4), options);
  options.delayeds = true;
  EventSimulator both(small_ring(), ball(1e4), options);
  for (int k = 0; k < 2; ++k) {
    const SimulatedEvents one = k == 0 ? plain.next_seconds(0.5) : plain.next_events(100000);
    const SimulatedEvents two = k == 0 ? both.next_seconds(0.5) : both.next_events(100000);
    CHECK(same_lines(one.events, two.events));
    CHECK(one.delayeds.count == 0);
    CHECK(two.delayeds.delayed);
    CHECK_FALSE(two.events.delayed);
    CHECK(two.delayeds.start_s == two.events.start_s);
    CHECK(two.delayeds.duration_s == two.events.duration_s);
    const double expected = options.randoms_cps * two.delayeds.duration_s;
    CHECK(std::abs(static_cast<double>(two.delayeds.count) - expected) < 5 * std::sqrt(expected));
    CHECK_FALSE(same_lines(two.delayeds, two.events));
  }
}

namespace {

/// The trues and randoms that each detector counted, and those expected by the scanner's efficiencies.
struct DetectorCounts {
  std::vector<double> trues, randoms, expected_trues, expected_randoms;
  double ratio(bool weak, const Scanner& scanner) const {
    double counted = 0, expected = 0;
    for (std::size_t d = 0; d < trues.size(); ++d) {
      if (!scanner.bin_efficiency.empty() && (scanner.bin_efficiency[d] < 0.7f) != weak) continue;
      counted += trues[d];
      expected += expected_trues[d];
    }
    return counted / expected;
  }
};

DetectorCounts count(EventSimulator& simulator, double seconds, double randoms_cps) {
  const SimulatedEvents made = simulator.next_seconds(seconds);
  const Scanner& scanner = *simulator.scanner();
  const auto detectors = static_cast<std::uint32_t>(scanner.detectors->size());
  const std::vector<double> none(detectors);
  DetectorCounts counts{none, none, none, none};
  for (std::int64_t i = 0; i < made.events.count; ++i)
    for (const std::uint32_t d : {made.events.detector1[i], made.events.detector2[i]})
      ++(made.is_random[static_cast<std::size_t>(i)] ? counts.randoms : counts.trues)[d];
  const auto crystal = [&](std::uint32_t d) {
    return scanner.bin_efficiency.empty() ? 1.0 : static_cast<double>(scanner.bin_efficiency[d]);
  };
  double products = 0;
  for (std::uint32_t a = 0; a < detectors; ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      if (!scanner.in_coincidence(a, b)) continue;
      const double line = simulator.phantom().activity_integral(scanner.detectors->position(a).as<double>(),
                                                                scanner.detectors->position(b).as<double>());
      for (const std::uint32_t d : {a, b}) {
        counts.expected_trues[d] += seconds * static_cast<double>(scanner.efficiency(a, b)) * line;
        counts.expected_randoms[d] += crystal(a) * crystal(b);
      }
      products += crystal(a) * crystal(b);
    }
  for (double& mean : counts.expected_randoms) mean *= randoms_cps * seconds / products;
  return counts;
}

}  // namespace

TEST_CASE("unequal crystals record trues and randoms in proportion to the scanner's efficiencies") {
  SimulationOptions options{.seed = 8, .randoms_cps = 1e6};
  Solid wide(Shape::cylinder, {}, {130, 130, 70});
  wide.activity_Bq_mL = 4e3;
  const Phantom phantom("wide", {wide});
  EventSimulator equal(small_ring(), phantom, options);
  RingScanner ring = small_ring();
  ring.crystal_efficiency_spread = 0.6;
  EventSimulator unequal(ring, phantom, options);
  const DetectorCounts one = count(equal, 0.5, options.randoms_cps), two = count(unequal, 0.5, options.randoms_cps);
  double chi_square = 0;
  for (std::size_t d = 0; d < two.randoms.size(); ++d) {
    const double mean = two.expected_randoms[d];
    chi_square += (two.randoms[d] - mean) * (two.randoms[d] - mean) / mean;
  }
  const auto freedom = static_cast<double>(two.randoms.size());
  CHECK(chi_square < freedom + 5 * std::sqrt(2 * freedom));
  // Crystals this large see a few percent more than their centres' lines suggest, equally so if they are alike.
  const double centres = one.ratio(false, *equal.scanner());
  for (const bool weak : {false, true}) CHECK(two.ratio(weak, *unequal.scanner()) / centres == approx(1).epsilon(0.01));
}

TEST_CASE("what stands for scatter comes at its line integrals, and is not attenuated") {
  SimulationOptions options{.seed = 2};
  options.scatter_phantom = ball(1e5, 70);
  EventSimulator simulator(small_ring(), ball(3e4, 50, 0.1), options);
  const SimulatedEvents made = simulator.next_seconds(0.5);
  const Scanner& scanner = *simulator.scanner();
  double expected = 0;
  const auto detectors = static_cast<std::uint32_t>(scanner.detectors->size());
  for (std::uint32_t a = 0; a < detectors; ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      expected += 0.5 * static_cast<double>(scanner.efficiency(a, b)) *
                  options.scatter_phantom->activity_integral(scanner.detectors->position(a).as<double>(),
                                                             scanner.detectors->position(b).as<double>());
  CHECK(static_cast<double>(made.truth.scattered) / expected == approx(1).epsilon(0.015));
  CHECK(made.truth.trues > 0);
  CHECK(made.events.count == static_cast<std::int64_t>(made.truth.trues + made.truth.scattered));
}
// SPDX-License-Identifier: Apache-2.0
