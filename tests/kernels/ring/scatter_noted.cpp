// Which events are noted as beside the body, for the fit of scatter, and how good that is said to be.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "kernels/ring/scatter/scatter_tails.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "kernels/simulate/random.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

RingScanner ring_of_few() {
  RingScanner ring{.name = "few", .inner_radius_mm = 300, .modules_transaxial = 36, .crystals_transaxial = 2};
  ring.crystals_axial = 6;
  ring.crystal_transaxial_mm = ring.pitch_transaxial_mm = 26;
  ring.crystal_axial_mm = ring.pitch_axial_mm = ring.module_pitch_axial_mm = 30;
  return ring;
}

/// Smooth, and falling with the distance from the axis by so much.
ScatterEstimate falling_scatter(double fall_mm) {
  ScatterEstimate made{{27, 2, 7, 7, 1}, 20, 30, 1, {}};
  made.values.resize(validate_lattice(made));
  for (std::size_t n = 0; n < made.values.size(); ++n)
    made.values[n] = static_cast<float>(std::exp(-20 * std::abs(static_cast<double>(n % 27) - 13) / fall_mm));
  return made;
}

}  // namespace

TEST_CASE(
    "events are beside the body whose lines pass it at more than the margin, whichever points of them lie in it") {
  const RingScanner ring = ring_of_few();
  Solid water(Shape::cylinder, {60, 0, 0}, {40, 40, 100});  // longer than the scanner
  water.mu_per_cm = 0.096;
  water.activity_Bq_mL = 10;
  const Phantom phantom("water", {water});
  EventSimulator simulator(ring, phantom, {.seed = 7, .randoms_cps = 100000});
  SimulatedEvents made = simulator.next_seconds(0.5);
  made.events.scanner = simulator.scanner();
  Image mu = phantom.mu_image(Grid::centred(60, 40, 60, {4, 4, 4}));
  for (float& value : mu.voxels.span()) value *= 0.1f;
  constexpr double margin = 20, coarse = 12;  // voxels of the body are 8 mm wide
  ScatterTails tails(mu, margin);
  tails.add(made.events);
  std::set<std::uint64_t> noted;
  for (const auto& event : tails.noted().events) noted.insert(event.number);
  REQUIRE(noted.size() > 1000);
  const EventView events = made.events.view();
  std::int64_t near = 0, beside = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const SinogramPlace place = sinogram_place(events.lor(i));
    const double apart = std::abs(static_cast<double>(place.s) - 60 * std::cos(static_cast<double>(place.phi))) - 40;
    const bool is_noted = noted.contains(static_cast<std::uint64_t>(i));
    if (apart < margin - coarse && is_noted) ++near;
    if (apart > margin + coarse && apart < 100 && !is_noted) ++beside;
  }
  CHECK(near == 0);
  CHECK(beside == 0);
}

TEST_CASE("the chi2 of tails is about 1 for counts of the model, and more for those of another") {
  Solid water(Shape::cylinder, {20, 0, 0}, {60, 60, 100});
  water.mu_per_cm = 0.096;
  water.activity_Bq_mL = 1;
  const Phantom phantom("water", {water});
  const EventSimulator simulator(ring_of_few(), phantom, {});
  const Scanner& scanner = *simulator.scanner();
  Image mu = phantom.mu_image(Grid::centred(50, 50, 40, {4, 4, 4}));
  for (float& value : mu.voxels.span()) value *= 0.1f;
  const ScatterEstimate truth = falling_scatter(150);
  const auto detectors = static_cast<std::uint32_t>(scanner.detectors->size());
  const auto counts_of_model = [&](double counts_a_unit, double randoms) {
    RandomStream random(3, 0);
    std::vector<std::uint32_t> first, second;
    for (std::uint32_t a = 0; a < detectors; ++a)
      for (std::uint32_t b = 0; b < a; ++b) {
        const Lor lor{scanner.detectors->position(a), scanner.detectors->position(b)};
        const double own = counts_a_unit * static_cast<double>(scanner.efficiency(a, b));
        const double mean = own * (static_cast<double>(scatter_at(truth, sinogram_place(lor))) + randoms);
        for (int n = mean > 0 ? std::poisson_distribution<int>(mean)(random) : 0; n > 0; --n) {
          first.push_back(a);
          second.push_back(b);
        }
      }
    EventBatch made{.count = static_cast<std::int64_t>(first.size())};
    made.scanner = simulator.scanner();
    made.detectors = scanner.detectors;
    made.duration_s = counts_a_unit;
    made.detector1 = Buffer<std::uint32_t>::from(std::span<const std::uint32_t>(first));
    made.detector2 = Buffer<std::uint32_t>::from(std::span<const std::uint32_t>(second));
    made.additive = Buffer<float>(Memory::host, made.count);
    std::ranges::fill(made.additive.span(), static_cast<float>(randoms));
    return made;
  };
  const double unit = 2 / static_cast<double>(scanner.efficiency(0, 36));
  const EventBatch scattered = counts_of_model(unit, 0), with_randoms = counts_of_model(unit, 0.5);
  constexpr double margin = 20, reach = 100, least_mu = 0.002;
  // All pairs, or a sample of them, which has a noise of its own.
  for (const EventBatch* const events : {&scattered, &with_randoms})
    for (const std::int64_t most_pairs : {4'000'000, 10'000}) {
      CAPTURE(most_pairs);
      ScatterTails tails(mu, margin, reach, least_mu, most_pairs);
      tails.add(*events);
      const TailFit fit = tails.fit(truth, 1), other = tails.fit(falling_scatter(100), 1);
      CHECK(std::abs(fit.mean - 1) < 3 * fit.error);
      CHECK(fit.by_place.places() > 40);
      CHECK(fit.chi2_a_place() == approx(1).epsilon(0.4));  // of 46 degrees of freedom: +- 0.21
      CHECK(fit.by_place.misfit() < 0.01);
      CHECK(other.chi2_a_place() > 1.5 * fit.chi2_a_place());
      CHECK(other.by_place.misfit() > 0.04);
    }
}
// SPDX-License-Identifier: Apache-2.0
