// Live fractions of pairs of modules in efficiencies, sensitivity and events' terms: a pattern that is a product of one
// factor a module is the same as crystals of those efficiencies.
#include <cmath>
#include <random>

#include "kernels/analysis/compare.hpp"
#include "kernels/ring/correct/event_terms.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "tests/kernels/ring/correct_support.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

double live_of_module(std::uint32_t module) {
  return 1 - 0.05 * (module % 7);
}

std::shared_ptr<const LivePattern> product_pattern(const Scanner& scanner) {
  LivePattern pattern{.modules = scanner.modules(), .factor = {}};
  for (std::uint32_t a = 0; a < pattern.modules; ++a)
    for (std::uint32_t b = 0; b < pattern.modules; ++b)
      pattern.factor.push_back(static_cast<float>(live_of_module(a) * live_of_module(b)));
  return std::make_shared<const LivePattern>(std::move(pattern));
}

Scanner with_pattern(const Scanner& scanner) {
  Scanner result = scanner;
  result.live = product_pattern(scanner);
  return result;
}

/// The same by the crystals' efficiencies.
Scanner with_live_crystals(const Scanner& scanner) {
  Scanner result = scanner;
  for (const ModuleType& type : result.types)
    for (std::uint64_t bin = 0; bin < std::uint64_t{type.modules} * type.elements * type.energy_bins; ++bin)
      result.bin_efficiency[type.first_bin + bin] *= static_cast<float>(
          live_of_module(type.first_module + static_cast<std::uint32_t>(bin / (type.elements * type.energy_bins))));
  return result;
}

}  // namespace

TEST_CASE("a scanner's pattern of live fractions is a factor of every pair's efficiency, and of its sensitivity") {
  const Scanner toy = toy_scanner(), patterned = with_pattern(toy), crystals = with_live_crystals(toy);
  patterned.validate();
  for (std::uint32_t a = 0; a < 44; a += 3)
    for (std::uint32_t b = 0; b < 44; b += 5)
      CHECK(patterned.efficiency(a, b) == approx(crystals.efficiency(a, b)).epsilon(1e-5));
  const auto projector = make_joseph_reference(Grid::centred(11, 9, 7, {6, 6, 5}), {});
  const Image one = compute_sensitivity(patterned, *projector).image,
              other = compute_sensitivity(crystals, *projector).image;
  CHECK(compare(one, other).nrms < 1e-6);
  CHECK(compare(one, compute_sensitivity(toy, *projector).image).nrms > 1e-3);
}

TEST_CASE("the key of a sensitivity knows the pattern") {
  const Scanner toy = toy_scanner();
  const Grid grid = Grid::centred(5, 5, 5, {6, 6, 6});
  CHECK(sensitivity_key(with_pattern(toy), grid, "p") != sensitivity_key(toy, grid, "p"));
  CHECK(sensitivity_key(with_pattern(toy), grid, "p") == sensitivity_key(with_pattern(toy), grid, "p"));
}

TEST_CASE("a pattern of another number of modules is refused") {
  Scanner toy = toy_scanner();
  toy.live = std::make_shared<const LivePattern>(LivePattern{3, std::vector<float>(9, 1.0f)});
  CHECK_THROWS_WITH(toy.validate(), doctest::Contains("pairs of 3 modules are not of this scanner's 10"));
}

TEST_CASE("events' terms have the pattern of their batch, on the CPU and on a GPU") {
  const auto scanner = make_scanner(small_ring());
  EventBatch plain = random_events(scanner, 3000, 3);
  EventBatch batch = random_events(scanner, 3000, 3);
  batch.live = product_pattern(*scanner);
  auto randoms = std::make_shared<RandomsModel>(randoms_of_rate(*scanner, 1e5));
  EventTerms terms{.randoms = randoms, .exposure = 0.5};
  set_terms(plain, terms);
  set_terms(batch, terms);
  auto lost = std::make_shared<RandomsModel>(*randoms);
  lost->before_losses = true;
  EventBatch lost_too = random_events(scanner, 3000, 3);
  lost_too.live = batch.live;
  terms.randoms = lost;
  set_terms(lost_too, terms);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const double live =
        live_of_module(scanner->module_of(batch.detector1[i])) * live_of_module(scanner->module_of(batch.detector2[i]));
    REQUIRE(batch.multiplicative[i] == approx(live * static_cast<double>(plain.multiplicative[i])).epsilon(1e-5));
    // Randoms as counted do not fall with m; those before losses do, and cancel.
    REQUIRE(batch.additive[i] == approx(static_cast<double>(plain.additive[i]) / live).epsilon(1e-5));
    REQUIRE(lost_too.additive[i] == approx(plain.additive[i]).epsilon(1e-5));
  }
  if (!gpu_or_skip()) return;
  EventBatch there = random_events(scanner, 3000, 3);
  there.live = batch.live;
  set_terms(there, terms, Backend::cuda);
  for (std::int64_t i = 0; i < there.count; ++i) {
    REQUIRE(there.multiplicative[i] == approx(lost_too.multiplicative[i]).epsilon(2e-5));
    REQUIRE(there.additive[i] == approx(lost_too.additive[i]).epsilon(2e-5));
  }
}

TEST_CASE("delayeds that pairs of modules lose unlike are fitted with their pattern") {
  const auto scanner = make_scanner(small_ring());
  LivePattern checkers{.modules = scanner->modules(), .factor = {}};  // no product of factors
  for (std::uint32_t a = 0; a < checkers.modules; ++a)
    for (std::uint32_t b = 0; b < checkers.modules; ++b) checkers.factor.push_back((a + b) % 2 == 0 ? 1.2f : 0.8f);
  const auto pattern = std::make_shared<const LivePattern>(std::move(checkers));
  EventBatch delayeds = random_events(scanner, 400'000, 9);  // alike over pairs
  std::vector<std::uint32_t> one, two;
  std::mt19937 random(2);
  for (std::int64_t i = 0; i < delayeds.count; ++i) {
    const double live = static_cast<double>(
        pattern->of(scanner->module_of(delayeds.detector1[i]), scanner->module_of(delayeds.detector2[i])));
    if (1.2 * static_cast<double>(random()) / 4294967296.0 > live) continue;
    one.push_back(delayeds.detector1[i]);
    two.push_back(delayeds.detector2[i]);
  }
  delayeds.count = static_cast<std::int64_t>(one.size());
  delayeds.detector1 = Buffer<std::uint32_t>::from(one);
  delayeds.detector2 = Buffer<std::uint32_t>::from(two);
  delayeds.tof_mm = {};
  DelayedCounts counts(*scanner);
  counts.add(delayeds);
  const RandomsModel model = randoms_from_delayeds(*scanner, counts, 10, pattern);
  CHECK(model.before_losses);
  const CoincidenceSums sums(*scanner, pattern);
  CHECK(10 * sums.total({model.factor.begin(), model.factor.end()}) ==
        approx(static_cast<double>(delayeds.count)).epsilon(1e-4));
  // Before losses all pairs are alike.
  double mean = 0, squares = 0;
  for (const float factor : model.factor) mean += static_cast<double>(factor) / 512;
  for (const float factor : model.factor) squares += std::pow(static_cast<double>(factor) / mean - 1, 2) / 512;
  const double a_detector = 2 * static_cast<double>(delayeds.count) / 512;
  CHECK(std::sqrt(squares) < 1.2 / std::sqrt(a_detector));
}
// SPDX-License-Identifier: Apache-2.0
