// Normalisation from a scan: crystals' efficiencies, dead and hot crystals, factors of classes, calibration and
// goodness of fit of simulated scans whose truth is known, and what is refused.
#include "kernels/ring/normalise/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/ring/simulate/event_simulator.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/kernels/ring/normalise_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct ScanOfSource {
  std::shared_ptr<const Scanner> scanner;
  EventBatch prompts, delayeds;
};

ScanOfSource scan_of_source(const Phantom& phantom, std::int64_t events, double randoms_cps = 0) {
  const RingScanner ring = ring_to_normalise();
  EventSimulator simulator(ring, phantom, {.seed = 3, .randoms_cps = randoms_cps, .delayeds = randoms_cps > 0});
  SimulatedEvents made = simulator.next_events(events);
  return {make_scanner(ring), std::move(made.events), std::move(made.delayeds)};
}

NormalisationEstimate normalised_by(const ScanOfSource& scan, const NormalisationSource& source,
                                    const NormalisationSettings& settings = {}) {
  Normalisation fit(scan.scanner, source, settings);
  fit.add(scan.prompts, 1);
  if (scan.delayeds.count == 0) return fit.estimate(nullptr);
  DelayedCounts counts(*scan.scanner);
  counts.add(scan.delayeds);
  const RandomsModel randoms = randoms_from_delayeds(*scan.scanner, counts, scan.prompts.duration_s);
  return fit.estimate(&randoms);
}

double mean_efficiency(const Scanner& scanner) {
  double sum = 0;
  for (const float e : scanner.bin_efficiency) sum += static_cast<double>(e);
  return sum / static_cast<double>(scanner.bin_efficiency.size());
}

/// The calibration that goes with efficiencies of mean 1.
double true_calibration(const Scanner& scanner) {
  return static_cast<double>(scanner.calibration) * mean_efficiency(scanner) * mean_efficiency(scanner);
}

/// Estimate / truth - 1 of a crystal.
double error_of(const NormalisationEstimate& estimate, const Scanner& truth, std::size_t i) {
  return static_cast<double>(estimate.components.crystal_efficiency[i]) * mean_efficiency(truth) /
             static_cast<double>(truth.bin_efficiency[i]) -
         1;
}

/// Its RMS over that of 1 / sqrt(events of the crystal).
double over_poisson(const NormalisationEstimate& estimate, const Scanner& truth) {
  double squares = 0, poisson = 0;
  for (std::size_t i = 0; i < truth.bin_efficiency.size(); ++i) {
    if (!(estimate.crystal_error[i] > 0)) continue;
    squares += std::pow(error_of(estimate, truth, i), 2);
    poisson += 1 / estimate.counted[i];
  }
  return std::sqrt(squares / poisson);
}

/// The same with the errors that the estimate states.
double over_stated(const NormalisationEstimate& estimate, const Scanner& truth) {
  double squares = 0, stated = 0;
  for (std::size_t i = 0; i < truth.bin_efficiency.size(); ++i) {
    squares += std::pow(error_of(estimate, truth, i), 2);
    stated += std::pow(static_cast<double>(estimate.crystal_error[i]), 2);
  }
  return std::sqrt(squares / stated);
}

/// The events, each as often as copies(detector1, detector2) says.
template <class Copies>
EventBatch repeated(const EventBatch& batch, const Copies& copies) {
  std::vector<std::uint32_t> one, two;
  for (std::int64_t k = 0; k < batch.count; ++k)
    for (int n = copies(batch.detector1[k], batch.detector2[k]); n > 0; --n) {
      one.push_back(batch.detector1[k]);
      two.push_back(batch.detector2[k]);
    }
  EventBatch result;
  result.count = static_cast<std::int64_t>(one.size());
  result.scanner = batch.scanner;
  result.detectors = batch.detectors;
  result.duration_s = batch.duration_s;
  result.detector1 = Buffer<std::uint32_t>::from(one);
  result.detector2 = Buffer<std::uint32_t>::from(two);
  return result;
}

}  // namespace

TEST_CASE("crystals' efficiencies come out within 1.2 Poisson errors, and a radius wrong by 2 mm shows") {
  const ScanOfSource scan = scan_of_source(water_cylinder(70), 1'000'000, 30000);
  const auto right = normalised_by(scan, {water_cylinder(70)});
  CHECK(right.trues > 0.7e6);
  CHECK(right.dead.size() + right.hot.size() + right.unseen.size() == 0);
  CHECK(over_poisson(right, *scan.scanner) < 1.2);
  CHECK(over_stated(right, *scan.scanner) == approx(1).epsilon(0.1));
  CHECK(right.components.calibration == approx(true_calibration(*scan.scanner)).epsilon(0.01));
  CHECK(right.fit.places > 1000);
  CHECK(right.fit.chi2_per_place() < 1.3);
  CHECK(right.fit.misfit < 0.015);
  CHECK(right.fit.beside == approx(right.fit.beside_expected).epsilon(0.01));
  for (const double radius : {68.0, 72.0}) {
    const auto wrong = normalised_by(scan, {water_cylinder(radius)});
    CHECK(wrong.fit.chi2_per_place() > 4);
    CHECK(wrong.fit.misfit > 0.04);
  }
}

TEST_CASE("groups of partners have the error that is stated, and few lines still give the efficiencies") {
  const ScanOfSource scan = scan_of_source(water_cylinder(70), 300'000);
  const auto all = normalised_by(scan, {water_cylinder(70)});
  CHECK(all.sum_error < 0.003);
  CHECK(all.partners_alike == 1);
  CHECK(over_poisson(all, *scan.scanner) < 1.1);
  const auto few = normalised_by(scan, {water_cylinder(70)}, {.most_lines = 100'000});
  CHECK(few.partners_alike == 8);
  CHECK(few.lines <= 100'000);
  CHECK(few.sum_error > 0.002);
  CHECK(few.sum_error < 0.02);
  double squares = 0;
  for (std::size_t i = 0; i < all.crystal_error.size(); ++i)
    squares += std::pow(
        static_cast<double>(few.components.crystal_efficiency[i] / all.components.crystal_efficiency[i]) - 1, 2);
  CHECK(std::sqrt(squares / static_cast<double>(all.crystal_error.size())) == approx(few.sum_error).epsilon(0.4));
  CHECK(few.components.calibration == approx(all.components.calibration).epsilon(0.005));
}

TEST_CASE("a dead crystal, one of half efficiency and a hot one are found") {
  constexpr std::uint32_t dead = 100, half = 505, hot = 902;
  ScanOfSource scan = scan_of_source(water_cylinder(70), 500'000);
  std::mt19937 random(5);
  scan.prompts = repeated(scan.prompts, [&](std::uint32_t one, std::uint32_t two) {
    const auto has = [&](std::uint32_t crystal) { return one == crystal || two == crystal; };
    if (has(dead)) return random() % 100 == 0 ? 1 : 0;
    if (has(half)) return random() % 2 == 0 ? 1 : 0;
    return has(hot) ? 5 : 1;
  });
  const auto estimate = normalised_by(scan, {water_cylinder(70)});
  CHECK(estimate.dead == std::vector<std::uint32_t>{dead});
  CHECK(estimate.hot == std::vector<std::uint32_t>{hot});
  CHECK(estimate.components.crystal_efficiency[dead] == 0);
  CHECK(estimate.components.crystal_efficiency[hot] == 0);
  CHECK(estimate.crystal_error[dead] == 0);
  CHECK(std::abs(error_of(estimate, *scan.scanner, half) + 0.5) <
        4 * static_cast<double>(estimate.crystal_error[half]));
  CHECK(over_poisson(estimate, *scan.scanner) < 1.25);  // the half one among them
  CHECK(estimate.components.calibration == approx(true_calibration(*scan.scanner)).epsilon(0.01));
}

TEST_CASE("lines, points and an annulus are sources too") {
  const auto rod = [](double x, double y) {
    Solid solid(Shape::cylinder, {x, y, 0}, {1.5, 1.5, 40});
    solid.activity_Bq_mL = 1e7;
    return solid;
  };
  Solid hole(Shape::cylinder, {}, {55, 55, 60});
  hole.activity_Bq_mL = 0;
  hole.mu_per_cm = 0;
  std::vector<Solid> annulus = water_cylinder(70).solids();
  annulus.push_back(hole);
  std::vector<Solid> points;
  for (int k = 0; k < 6; ++k) {
    Solid solid(Shape::ellipsoid, {45 * std::cos(1.9 * k), 45 * std::sin(1.9 * k), 11 * (k - 2.5)}, {3, 3, 3});
    solid.activity_Bq_mL = 1e7;
    points.push_back(solid);
  }
  for (const Phantom& source : {Phantom("rods", {rod(30, 10), rod(-20, 25), rod(5, -35)}), Phantom("annulus", annulus),
                                Phantom("points", points)}) {
    CAPTURE(source.name());
    const ScanOfSource scan = scan_of_source(source, 200'000);
    const auto estimate = normalised_by(scan, {source});
    CHECK(over_stated(estimate, *scan.scanner) < 1.2);
    CHECK(estimate.unseen.size() < 20);
    CHECK(over_poisson(estimate, *scan.scanner) < 1.3);
    CHECK(estimate.components.calibration == approx(true_calibration(*scan.scanner)).epsilon(0.02));
  }
}

TEST_CASE("each part can be left out, and factors of classes are found") {
  const ScanOfSource scan = scan_of_source(water_cylinder(70), 300'000);
  const NormalisationSource source{water_cylinder(70)};
  const auto scale = normalised_by(scan, source, {.crystals = false});
  CHECK(scale.components.crystal_efficiency.empty());
  CHECK(scale.components.calibration == approx(scan.scanner->calibration).epsilon(0.01));

  const auto relative = normalised_by(scan, source, {.calibration = false});
  CHECK(relative.components.calibration == 0);
  CHECK(relative.components.crystal_efficiency[7] ==
        approx(scan.scanner->bin_efficiency[7]).epsilon(4 * static_cast<double>(relative.crystal_error[7])));

  // The source was half as active as it was at the scan's start, on average.
  Normalisation decayed(scan.scanner, source, {});
  decayed.add(scan.prompts, 0.5);
  const auto all = normalised_by(scan, source);
  CHECK(decayed.estimate(nullptr).components.calibration == approx(2 * all.components.calibration).epsilon(1e-4));
  CHECK(all.components.unit == "Bq/mL");

  // A scanner that thinks one class of pairs to be less efficient than it is.
  const auto tabulated = std::make_shared<Scanner>(*with_efficiency_tables(ring_to_normalise()));
  constexpr std::size_t planted = 5;
  for (float& value : tabulated->pair_tables[planted].values) value *= 0.8f;
  ScanOfSource other = scan;
  other.scanner = tabulated;
  const auto classes = normalised_by(other, source, {.classes = true});
  REQUIRE(classes.components.class_factor.size() == tabulated->pair_tables.size());
  double weights = 0, mean = 0, chi2 = 0, count = 0;
  const auto factor = [&](std::size_t c) { return static_cast<double>(classes.components.class_factor[c]); };
  const auto error = [&](std::size_t c) { return static_cast<double>(classes.class_error[c]); };
  const auto for_each_other = [&](const auto& what) {
    for (std::size_t c = 0; c < classes.class_error.size(); ++c)
      if (c != planted && error(c) > 0) what(c);
  };
  for_each_other([&](std::size_t c) {
    weights += std::pow(error(c), -2);
    mean += factor(c) * std::pow(error(c), -2);
  });
  mean /= weights;
  for_each_other([&](std::size_t c) {
    chi2 += std::pow((factor(c) / mean - 1) / error(c), 2);
    ++count;
  });
  CHECK(count > 25);
  CHECK(chi2 / count < 1.7);
  CHECK(std::abs(factor(planted) / mean - 1.25) < 4 * error(planted));
  CHECK(over_poisson(classes, *scan.scanner) < 1.2);
}

TEST_CASE("what cannot be normalised is refused in one line") {
  const ScanOfSource scan = scan_of_source(water_cylinder(70), 2'000);
  const NormalisationSource source{water_cylinder(70)};
  CHECK_THROWS_WITH(Normalisation(scan.scanner, source, {}).estimate(nullptr), doctest::Contains("no event came"));
  CHECK_THROWS_WITH(normalised_by(scan, {water_cylinder(20, {0, 0, 600})}),
                    doctest::Contains("outside the field of view"));
  ScanOfSource elsewhere = scan;
  elsewhere.prompts = repeated(scan.prompts, [&](std::uint32_t one, std::uint32_t two) {
    const Vec3 middle = 0.5f * (scan.scanner->detectors->position(one) + scan.scanner->detectors->position(two));
    return std::hypot(middle.x, middle.y) > 25 ? 1 : 0;
  });
  CHECK_THROWS_WITH(normalised_by(elsewhere, {water_cylinder(4)}), doctest::Contains("lies on a line that meets"));
  CHECK_THROWS_WITH(normalised_by(scan, source), doctest::Contains("too few"));
  CHECK_THROWS_WITH(Normalisation(scan.scanner, source, {.classes = true}), doctest::Contains("no tables of module"));
  CHECK_THROWS_WITH(Normalisation(scan.scanner, {Phantom("cold", {})}, {}), doctest::Contains("no activity"));
  auto tof = std::make_shared<ScatterEstimate>();
  tof->size = {1, 1, 1, 1, 2};
  tof->values = {1, 1};
  CHECK_THROWS_WITH(Normalisation(scan.scanner, {water_cylinder(70), {}, tof}, {}), doctest::Contains("whole lines"));
  EventBatch other;
  other.scanner = make_scanner(RingScanner{.modules_transaxial = 8});
  other.detectors = other.scanner->detectors;
  CHECK_THROWS_WITH(Normalisation(scan.scanner, source, {}).add(other, 1), doctest::Contains("one scanner"));
  ScanOfSource timeless = scan;
  timeless.prompts.duration_s = 0;
  CHECK_THROWS_WITH(normalised_by(timeless, source), doctest::Contains("no scan time"));
}
// SPDX-License-Identifier: Apache-2.0
