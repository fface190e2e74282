// What pairs are expected to count of a source: against closed forms, lines drawn over both crystals, and sums over all
// pairs one by one.
#include <cmath>
#include <random>

#include "kernels/ring/normalise/crystal_tree.hpp"
#include "kernels/ring/normalise/fan_sums.hpp"
#include "kernels/ring/normalise/pair_expectation.hpp"
#include "tests/kernels/ring/normalise_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;
using detail::DetectorPair;
using detail::PairExpectation;

namespace {

float expected_of(const PairExpectation& expectation, DetectorPair pair) {
  float value = 0;
  expectation.of({&pair, 1}, &value);
  return value;
}

/// The efficiency of a pair whose crystals have efficiency 1.
double geometry_of(const Scanner& scanner, DetectorPair pair) {
  return static_cast<double>(scanner.efficiency(pair.detector1, pair.detector2)) /
         (static_cast<double>(scanner.calibration) * static_cast<double>(scanner.bin_efficiency[pair.detector1]) *
          static_cast<double>(scanner.bin_efficiency[pair.detector2]));
}

}  // namespace

TEST_CASE("a pair well inside the source is expected to count geometry x attenuation x chord, and its scatter") {
  const auto scanner = make_scanner(ring_to_normalise());
  const Phantom source = water_cylinder(70);
  const PairExpectation expectation(*scanner, {source});
  const Grid grid = Grid::centred(80, 80, 50, {2, 2, 2});
  Image map = source.mu_image(grid);
  for (float& mu : map.voxels.span()) mu *= 0.1f;
  const PairExpectation mapped(*scanner, {source, map});
  auto scatter = std::make_shared<ScatterEstimate>();
  scatter->values = {3e5f};
  const PairExpectation scattered(*scanner, {source, {}, scatter});
  int inside = 0;
  std::mt19937 random(2);
  for (int n = 0; n < 400; ++n) {
    DetectorPair pair{static_cast<std::uint32_t>(random() % 1152), static_cast<std::uint32_t>(random() % 1152)};
    if (pair.detector1 < pair.detector2) std::swap(pair.detector1, pair.detector2);
    const Vec3d p = scanner->detectors->position(pair.detector1).as<double>(),
                q = scanner->detectors->position(pair.detector2).as<double>();
    if (!scanner->in_coincidence(pair.detector1, pair.detector2)) {
      CHECK(expected_of(expectation, pair) == 0);
      continue;
    }
    const double chord = source.activity_integral(p, q) / 1e4, geometry = geometry_of(*scanner, pair);
    CHECK(expected_of(scattered, pair) - expected_of(expectation, pair) == approx(3e5 * geometry).epsilon(1e-3));
    if (chord < 90) continue;
    ++inside;
    CHECK(expected_of(expectation, pair) == approx(geometry * 1e4 * chord * std::exp(-0.0096 * chord)).epsilon(1e-4));
    CHECK(expected_of(mapped, pair) == approx(expected_of(expectation, pair)).epsilon(0.02));
  }
  CHECK(inside > 40);
}

TEST_CASE("where a source is thin, a pair sees the mean over lines between its crystals") {
  const auto scanner = make_scanner(ring_to_normalise());
  Solid rod(Shape::cylinder, {20, 5, 0}, {1, 1, 45});
  rod.activity_Bq_mL = 1e6;
  const Phantom source("rod", {rod});
  const PairExpectation expectation(*scanner, {source});
  // Over the fans of a module, so that the lines drawn for a pair, of which few meet the rod, are many.
  std::vector<DetectorPair> pairs;
  for (std::uint32_t crystal = 600; crystal < 616; ++crystal)
    for (std::uint32_t j = 0; j < 1152; ++j) {
      if (j == crystal || !scanner->in_coincidence(crystal, j)) continue;
      pairs.push_back({std::max(crystal, j), std::min(crystal, j)});
    }
  std::vector<float> values(pairs.size());
  expectation.of(pairs, values.data());
  double sum = 0, drawn = 0;
  std::mt19937 random(3);
  const auto point = [&](std::uint32_t detector) {
    const Vec3d at = scanner->detectors->position(detector).as<double>();
    const Vec3 normal = scanner->geometric.module_normals[scanner->module_of(detector)];
    const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
    const double u = 6 * (uniform() - 0.5), v = 6 * (uniform() - 0.5);
    // The depth of an interaction in 20 mm of the ring's 0.83 per cm, from the mean depth.
    constexpr double mu = 0.083;
    const double stopped = 1 - std::exp(-mu * 20), depth = -std::log(1 - stopped * uniform()) / mu;
    const double mean = 1 / mu - 20 / std::expm1(mu * 20);
    return at + u * Vec3d{-static_cast<double>(normal.y), static_cast<double>(normal.x), 0} + Vec3d{0, 0, v} +
           (depth - mean) * normal.as<double>();
  };
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    sum += static_cast<double>(values[k]);
    if (!(values[k] > 0)) continue;
    constexpr int lines = 400;
    double chords = 0;
    for (int n = 0; n < lines; ++n)
      chords += source.activity_integral(point(pairs[k].detector1), point(pairs[k].detector2)) / lines;
    drawn += geometry_of(*scanner, pairs[k]) * chords;
  }
  CHECK(drawn > 0);
  CHECK(sum == approx(drawn).epsilon(0.03));
}

TEST_CASE("fan sums are those over all pairs one by one, whatever is left out on the way") {
  const auto scanner = make_scanner(ring_to_normalise());
  Solid ball(Shape::ellipsoid, {-30, 40, 10}, {12, 20, 8}, {10, 20, 30});
  ball.activity_Bq_mL = 1e5;
  std::vector<Solid> solids = water_cylinder(20).solids();
  solids.push_back(ball);
  PairExpectation expectation(*scanner, {Phantom("two", solids)});
  const detail::FanSums sums(expectation, 1 << 30);
  CHECK(sums.crystals_a_group() == 1);
  std::vector<double> e;
  for (std::uint32_t d = 0; d < 1152; ++d) e.push_back(0.5 + 0.5 * std::sin(d));
  const std::vector<double> fans = sums.fans(e);
  for (const std::uint32_t i : {0u, 77u, 500u, 1151u}) {
    double fan = 0;
    for (std::uint32_t j = 0; j < 1152; ++j)
      if (j != i) fan += e[j] * static_cast<double>(expected_of(expectation, {std::max(i, j), std::min(i, j)}));
    CAPTURE(i);
    CHECK(fan > 0);
    CHECK(fans[i] == approx(fan).epsilon(1e-5));
  }
}

TEST_CASE("a module's crystals are halved down to single ones, within their spheres") {
  const auto scanner = make_scanner(ring_to_normalise());
  const detail::CrystalTree tree(*scanner);
  std::size_t single = 0;
  for (const auto& node : tree.nodes()) {
    for (const std::uint32_t d : node.detectors)
      CHECK(norm(scanner->detectors->position(d) - node.centre_mm) <= node.radius_mm * (1 + 1e-6f));
    CHECK(node.radius_mm <= tree.radii_mm()[node.depth]);
    if (node.child >= 0) {
      const auto& first = tree.nodes()[static_cast<std::size_t>(node.child)];
      const auto& second = tree.nodes()[static_cast<std::size_t>(node.child) + 1];
      CHECK(first.detectors.size() + second.detectors.size() == node.detectors.size());
    } else {
      ++single;
    }
  }
  CHECK(single == 1152);
}

TEST_CASE("a grown solid holds every point within the margin") {
  std::mt19937 random(4);
  const auto symmetric = [&] { return 2 * static_cast<double>(random()) / 4294967296.0 - 1; };
  for (const Shape shape : {Shape::ellipsoid, Shape::cylinder, Shape::box})
    for (const Vec3d axes : {Vec3d{20, 20, 20}, Vec3d{20, 20, 50}, Vec3d{3, 30, 12}}) {
      const Solid solid(shape, {5, -7, 3}, axes, {20, 30, 40}, {1, 0, 0});
      const Solid grown = solid.grown(4);
      int tried = 0;
      while (tried < 500) {
        const Vec3d unit{symmetric(), symmetric(), symmetric()}, step{symmetric(), symmetric(), symmetric()};
        if (!solid.unit_contains(unit) || norm(step) > 1) continue;
        ++tried;
        CHECK(grown.contains(solid.from_unit(unit) + 4.0 * step));
      }
    }
}
// SPDX-License-Identifier: Apache-2.0
