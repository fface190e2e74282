// Efficiencies from delayeds alone: those of a scanner that sees an unknown source, with the flux that it has.
#include "kernels/ring/normalise/delayed_efficiencies.hpp"

#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/kernels/ring/normalise_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

std::shared_ptr<const Scanner> scanner_of_efficiencies() {
  static const auto made = make_scanner(ring_to_normalise());
  return made;
}

/// As of a source at (60, 30, 20) mm in a ring of 120 mm: singles by the square of the distance.
double flux_at(Vec3 detector) {
  const double x = static_cast<double>(detector.x) - 60, y = static_cast<double>(detector.y) - 30,
               z = static_cast<double>(detector.z) - 20;
  return 1e4 / (x * x + y * y + z * z);
}

std::vector<double> efficiencies() {
  std::vector<double> result;
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(0.6, 1);
  for (std::int64_t i = 0; i < scanner_of_efficiencies()->detectors->size(); ++i) result.push_back(uniform(random));
  return result;
}

/// So many delayeds of crystals of these efficiencies in that flux.
DelayedCounts delayeds_of(const std::vector<double>& efficiency, std::int64_t count) {
  const Scanner& scanner = *scanner_of_efficiencies();
  std::vector<double> singles;
  for (std::uint32_t i = 0; i < efficiency.size(); ++i)
    singles.push_back(efficiency[i] * flux_at(scanner.detectors->position(i)));
  const std::uint32_t elements = scanner.types[0].elements;
  const auto coincide = [&](std::uint32_t i, std::uint32_t j) {
    return scanner.module_pair[static_cast<std::size_t>(i / elements) * scanner.modules() + j / elements] >= 0;
  };
  EventBatch batch;
  batch.count = count;
  batch.detectors = scanner.detectors;
  batch.delayed = true;
  batch.detector1 = Buffer<std::uint32_t>(Memory::host, count);
  batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
  std::mt19937 random(5);
  std::discrete_distribution<std::uint32_t> crystal(singles.begin(), singles.end());
  for (std::int64_t n = 0; n < count;) {
    const std::uint32_t i = crystal(random), j = crystal(random);
    if (!coincide(i, j)) continue;
    batch.detector1[n] = i;
    batch.detector2[n++] = j;
  }
  DelayedCounts counts(scanner);
  counts.add(batch);
  return counts;
}

}  // namespace

TEST_CASE("efficiencies from delayeds are the true ones, but for counting errors and what the flux takes of them") {
  const std::vector<double> truth = efficiencies();
  double mean = 0;
  for (const double e : truth) mean += e / static_cast<double>(truth.size());
  const DelayedEfficiencies found = efficiencies_from_delayeds(*scanner_of_efficiencies(), delayeds_of(truth, 400'000));
  CHECK(found.dead.empty());
  CHECK(found.hot.empty());
  CHECK(found.unseen.empty());
  double squares = 0, expected = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    squares += std::pow(static_cast<double>(found.efficiency[i]) * mean / truth[i] - 1, 2);
    expected += 1 / found.counted[i];
    CHECK(found.error[i] == approx(1 / std::sqrt(found.counted[i])));
  }
  // Each of the flux's 65 coefficients takes up what efficiencies, uniform from 0.6 to 1, have of its function.
  const double spread = 0.4 / std::sqrt(12.0) / 0.8;
  CHECK(std::sqrt(squares / (expected + 65 * spread * spread)) < 1.1);
  CHECK(found.flux_ratio > 5);
  CHECK(found.module_spread < 0.05);

  // With a flux that may not change, the efficiencies would be that of the source's place.
  const DelayedEfficiencies flat =
      efficiencies_from_delayeds(*scanner_of_efficiencies(), delayeds_of(truth, 400'000), {0, 0});
  CHECK(flat.module_spread > 0.5);
}

TEST_CASE("dead and hot crystals of a scan of an unknown source are found and left out") {
  std::vector<double> truth = efficiencies();
  truth[17] = 0;
  truth[700] = 6;
  const DelayedEfficiencies found = efficiencies_from_delayeds(*scanner_of_efficiencies(), delayeds_of(truth, 400'000));
  CHECK(found.dead == std::vector<std::uint32_t>{17});
  CHECK(found.hot == std::vector<std::uint32_t>{700});
  CHECK(found.efficiency[17] == 0);
  CHECK(found.efficiency[700] == 0);
  CHECK(found.error[700] == 0);
  double mean = 0;
  for (const float e : found.efficiency) mean += static_cast<double>(e) / static_cast<double>(truth.size() - 2);
  CHECK(mean == approx(1).epsilon(1e-6));
}

TEST_CASE("too few delayeds for the flux are one error") {
  const Scanner& scanner = *scanner_of_efficiencies();
  CHECK_THROWS_WITH_AS(efficiencies_from_delayeds(scanner, delayeds_of(efficiencies(), 2000)),
                       doctest::Contains("2000 delayed coincidences are too few"), std::runtime_error);
  CHECK_THROWS_WITH_AS(efficiencies_from_delayeds(scanner, DelayedCounts(scanner)),
                       doctest::Contains("0 delayed coincidences are too few"), std::runtime_error);
  CHECK_THROWS_AS(efficiencies_from_delayeds(scanner, DelayedCounts(scanner), {-1, 0}), std::invalid_argument);
  // A ring has 96 crystals, which do not settle the 97 numbers of this series.
  CHECK_THROWS_WITH_AS(efficiencies_from_delayeds(scanner, delayeds_of(efficiencies(), 100'000), {48, 0}),
                       doctest::Contains("too few different places"), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
