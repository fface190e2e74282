// Attenuation of lines through a cylinder against exp(-mu L), the terms of events against their formula, and CUDA
// against the CPU.
#include <limits>

#include "kernels/ring/correct/event_terms.hpp"
#include "kernels/ring/correct/normalisation.hpp"
#include "kernels/simulate/phantom.hpp"
#include "tests/kernels/ring/correct_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr double mu_per_cm = 0.096;

Phantom water() {
  Solid solid(Shape::cylinder, {10, -5, 0}, {90, 90, 60});
  solid.mu_per_cm = mu_per_cm;
  return Phantom("water", {solid});
}

Image mu_per_mm(const Grid& grid) {
  Image mu = water().mu_image(grid, 3);
  for (float& value : mu.voxels.span()) value *= 0.1f;
  return mu;
}

std::shared_ptr<const Scanner> unequal_scanner() {
  std::vector<float> crystals;
  for (int d = 0; d < small_ring().detectors(); ++d) crystals.push_back(0.5f + 0.01f * static_cast<float>(d % 50));
  crystals[17] = 0;
  return with_normalisation(*make_scanner(small_ring()), {.crystal_efficiency = crystals});
}

std::shared_ptr<const ScatterEstimate> flat_scatter(int tof_samples) {
  ScatterEstimate e{{3, 2, 2, 2, tof_samples}, 100, 90, 50, {}};
  e.values.assign(static_cast<std::size_t>(24 * tof_samples), 0.02f);
  return std::make_shared<const ScatterEstimate>(std::move(e));
}

}  // namespace

TEST_CASE("attenuation is exp(-mu L) along lines through a cylinder, on any grid of the map") {
  const EventBatch events = random_events(make_scanner(small_ring()), 4000, 1);
  // A centre and a voxel size that no image would have.
  Grid grid = Grid::centred(130, 120, 62, {1.7f, 1.9f, 2.3f});
  grid.origin_mm = grid.origin_mm + Vec3{8, -4, 1};
  const Attenuation attenuation(mu_per_mm(grid), Backend::cpu);
  std::vector<float> factors(4000, 2.0f);
  attenuation.apply(events.view(), factors.data());
  double squares = 0, mean = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const Lor lor = events.view().lor(i);
    const double truth = std::exp(-water().attenuation(lor.end1.as<double>(), lor.end2.as<double>()));
    const double error = static_cast<double>(factors[static_cast<std::size_t>(i)]) / 2 - truth;
    squares += error * error / 4000;
    mean += error / 4000;
  }
  CHECK(std::sqrt(squares) < 0.01);  // nearly all from lines that graze the edge
  CHECK(std::abs(mean) < 2e-4);
  Image negative = mu_per_mm(grid);
  negative.voxels[5] = -1;
  CHECK_THROWS_WITH(Attenuation(negative, Backend::cpu), doctest::Contains("attenuation cannot be -1"));
}

TEST_CASE("terms are efficiency x attenuation x exposure, and randoms and scatter over them") {
  const auto scanner = unequal_scanner();
  const Grid grid = Grid::centred(110, 110, 60, {2, 2, 2});
  const Attenuation attenuation(mu_per_mm(grid), Backend::cpu);
  const auto randoms = std::make_shared<const RandomsModel>(randoms_of_rate(*scanner, 3000));
  for (const bool of_bins : {true, false}) {
    EventBatch events = random_events(scanner, 2000, 9);
    const auto scatter = flat_scatter(of_bins ? 3 : 1);
    std::vector<float> survival(2000, 1.0f);
    attenuation.apply(events.view(), survival.data());
    set_terms(events, {.attenuation = &attenuation,
                       .randoms = randoms,
                       .randoms_scale = 1.5,
                       .scatter = scatter,
                       .exposure = 0.8,
                       .reference_s = 20.0,
                       .tof = of_bins});
    CHECK(events.exposure == 0.8);
    int infinite = 0;
    for (std::int64_t i = 0; i < events.count; ++i) {
      const std::uint32_t a = events.detector1[i], b = events.detector2[i];
      const float kept = survival[static_cast<std::size_t>(i)], m = scanner->efficiency(a, b) * kept * 0.8f;
      CHECK(events.multiplicative[i] == approx(m).epsilon(1e-5));
      if (m == 0) {
        CHECK(std::isinf(events.additive[i]));
        ++infinite;
        continue;
      }
      const float share = of_bins ? 1.0f / 21 : 1.0f, width = of_bins ? events.tof.bin_width_mm : 1.0f;
      CHECK(events.additive[i] ==
            approx(20 * (1.5f * randoms->rate(a, b) * share / m + 0.02f * width / kept)).epsilon(1e-4));
    }
    CHECK(infinite > 0);
  }
}

TEST_CASE("events on pairs of efficiency 0 are skipped without randoms and scatter too, where that is asked for") {
  const auto scanner = unequal_scanner();
  EventBatch as_it_is = random_events(scanner, 2000, 9), events = random_events(scanner, 2000, 9);
  set_terms(as_it_is, {});
  CHECK(as_it_is.additive.empty());
  set_terms(events, {.skip_unrecorded = true});
  for (std::int64_t i = 0; i < events.count; ++i)
    CHECK(events.additive[i] == (events.multiplicative[i] > 0 ? 0 : std::numeric_limits<float>::infinity()));
}

TEST_CASE("what does not fit together is refused in plain words") {
  const auto scanner = make_scanner(small_ring());
  const auto randoms = std::make_shared<const RandomsModel>(randoms_of_rate(*scanner, 1));
  const auto lines = flat_scatter(1), bins = flat_scatter(3);
  const auto refused = [&](const EventTerms& terms, const char* why, auto&& change) {
    EventBatch events = random_events(scanner, 5, 1);
    change(events);
    CHECK_THROWS_WITH(set_terms(events, terms), doctest::Contains(why));
  };
  const auto as_is = [](EventBatch&) {};
  refused({.scatter = lines}, "the scatter estimate has not", as_is);
  refused({.scatter = bins, .tof = false}, "the events' terms are not", as_is);
  refused({.exposure = 0}, "positive exposure", as_is);
  refused({.randoms = randoms}, "coincidence window", [](EventBatch& e) { e.tof.window_mm = 0; });
  refused({}, "already", [](EventBatch& e) { set_terms(e, {}); });
}

TEST_CASE("what stays with the scanner attenuates moved events along the line that was recorded") {
  const auto scanner = make_scanner(small_ring());
  const Grid grid = Grid::centred(110, 110, 60, {2, 2, 2});
  const RigidPose pose = pose_of_quaternion({1, 0.1, 0, 0.2}, {30, -20, 10});
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    if (backend == Backend::cuda && !gpu_or_skip()) continue;
    const Attenuation mu(mu_per_mm(grid), backend);
    const EventBatch recorded = random_events(scanner, 2000, 4);
    EventBatch placed = recorded;
    placed.detectors = moved(*scanner->detectors, pose);
    placed.pose = std::make_shared<const RigidPose>(pose);
    const auto terms_of = [&](EventBatch events, const EventTerms& terms) {
      set_terms(events, terms, backend);
      return events.multiplicative.to_vector();
    };
    const auto still = terms_of(recorded, {.attenuation = &mu});
    CHECK(terms_of(placed, {.hardware = &mu}) == still);
    CHECK(terms_of(recorded, {.hardware = &mu}) == still);
    const auto along = terms_of(placed, {.attenuation = &mu}),
               both = terms_of(placed, {.attenuation = &mu, .hardware = &mu}), neither = terms_of(placed, {});
    CHECK(along != still);
    for (std::size_t i = 0; i < both.size(); ++i)
      CHECK(both[i] * neither[i] == approx(still[i] * along[i]).epsilon(1e-5));
    placed.scanner = nullptr;
    CHECK_THROWS_WITH(terms_of(placed, {.hardware = &mu}), doctest::Contains("only where these name its detectors"));
  }
}

TEST_CASE("one corrector takes up another scanner, other randoms and other scatter") {
  const auto equal = make_scanner(small_ring()), unequal = unequal_scanner();
  EventCorrector corrector(Backend::cpu);
  const auto set = [&](const std::shared_ptr<const Scanner>& scanner, double cps, float scatter) {
    auto estimate = *flat_scatter(3);
    for (float& value : estimate.values) value = scatter;
    const EventTerms terms{.randoms = std::make_shared<const RandomsModel>(randoms_of_rate(*scanner, cps)),
                           .scatter = std::make_shared<const ScatterEstimate>(std::move(estimate))};
    EventBatch events = random_events(scanner, 3000, 2), alone = events;
    corrector.set_multiplicative(events, terms);
    corrector.set_additive(events, terms);
    set_terms(alone, terms);
    CHECK(events.multiplicative.to_vector() == alone.multiplicative.to_vector());
    CHECK(events.additive.to_vector() == alone.additive.to_vector());
    return events.additive.to_vector();
  };
  const auto first = set(equal, 3000, 0.1f);
  CHECK(set(unequal, 3000, 0.1f) != first);
  CHECK(set(equal, 6000, 0.1f) != first);
  CHECK(set(equal, 3000, 0.2f) != first);
  CHECK(set(equal, 3000, 0.1f) == first);
}

TEST_CASE("additive terms are not set before multiplicative ones, nor twice") {
  const auto scanner = make_scanner(small_ring());
  EventBatch events = random_events(scanner, 5, 1);
  EventCorrector corrector(Backend::cpu);
  const EventTerms terms{.scatter = flat_scatter(3)};
  CHECK_THROWS_WITH(corrector.set_additive(events, terms), doctest::Contains("after multiplicative"));
  corrector.set_multiplicative(events, terms);
  corrector.set_additive(events, terms);
  CHECK_THROWS_WITH(corrector.set_additive(events, terms), doctest::Contains("already"));
}

TEST_CASE("terms set with CUDA are the CPU's, each alone and all together, for events on the host and on the device") {
  if (!gpu_or_skip()) return;
  const auto scanner = unequal_scanner();
  const Grid grid = Grid::centred(110, 110, 60, {2, 2, 2});
  const Attenuation cpu(mu_per_mm(grid), Backend::cpu), cuda(mu_per_mm(grid), Backend::cuda);
  const auto randoms = std::make_shared<const RandomsModel>(randoms_of_rate(*scanner, 3000));
  ScatterEstimate uneven = *flat_scatter(3);
  for (std::size_t v = 0; v < uneven.values.size(); ++v) uneven.values[v] *= 1 + static_cast<float>(v % 7);
  const auto scatter = std::make_shared<const ScatterEstimate>(uneven);
  const EventBatch events = random_events(scanner, 20000, 4);
  for (const bool attenuated : {false, true})
    for (const bool random : {false, true})
      for (const bool scattered : {false, true})
        for (const Memory memory : {Memory::host, Memory::pinned, Memory::device}) {
          EventTerms terms{.exposure = 0.9, .reference_s = 20};
          if (random) terms.randoms = randoms;
          if (scattered) terms.scatter = scatter;
          terms.attenuation = attenuated ? &cpu : nullptr;
          EventBatch reference = events;
          set_terms(reference, terms);
          terms.attenuation = attenuated ? &cuda : nullptr;
          EventBatch there = events.to(memory);
          set_terms(there, terms, Backend::cuda);
          CHECK(there.multiplicative.memory() == memory);
          REQUIRE(there.additive.empty() == reference.additive.empty());
          const auto m = there.multiplicative.to_vector(), c = there.additive.to_vector();
          double worst = 0;
          for (std::int64_t i = 0; i < events.count; ++i) {
            const auto n = static_cast<std::size_t>(i);
            worst = std::max(worst, static_cast<double>(std::abs(m[n] - reference.multiplicative[i])));
            if (c.empty()) continue;
            CHECK(std::isinf(c[n]) == std::isinf(reference.additive[i]));
            if (std::isfinite(c[n]))
              worst = std::max(worst, static_cast<double>(std::abs(c[n] / reference.additive[i] - 1)));
          }
          CHECK(worst < 2e-5);
        }
}
// SPDX-License-Identifier: Apache-2.0
