// The draws of the Monte Carlo: the normal distribution, the alias table, the slab that a photon enters and the lines
// of decays, each against its definition.
#include <numbers>

#include "kernels/ring/simulate/decay_sampler.hpp"
#include "kernels/ring/simulate/ring_tracer.hpp"
#include "kernels/simulate/alias_table.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr int draws = 1000000;

/// Within 5 standard deviations of a binomial count.
bool agrees(double count, double chance) {
  return std::abs(count - draws * chance) <= 5 * std::sqrt(draws * chance * (1 - chance));
}

RingScanner ring_of_sectors(int sectors) {
  RingScanner ring;
  ring.inner_radius_mm = 100;
  ring.modules_transaxial = sectors;
  ring.crystals_axial = 10;
  return ring;
}

}  // namespace

TEST_CASE("normal numbers have the normal distribution's moments and tails") {
  RandomStream random(3, 0);
  double sum = 0, squares = 0, fourth = 0, beyond[4] = {};
  for (int i = 0; i < draws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    for (int k = 1; k < 5; ++k) beyond[k - 1] += x > k ? 1 : 0;
  }
  CHECK(std::abs(sum) < 5 * std::sqrt(draws));
  CHECK(std::abs(squares - draws) < 5 * std::sqrt(2.0 * draws));
  CHECK(std::abs(fourth - 3.0 * draws) < 5 * std::sqrt(96.0 * draws));
  for (int k = 1; k < 5; ++k) CHECK(agrees(beyond[k - 1], 0.5 * std::erfc(k / std::numbers::sqrt2)));
}

TEST_CASE("an alias table draws in proportion to the weights") {
  const std::vector<double> weights{1, 0, 5, 2.5, 0.01, 1.49};
  const AliasTable table(weights);
  RandomStream random(4, 0);
  std::vector<double> counts(weights.size());
  for (int i = 0; i < draws; ++i) ++counts[table.draw(random)];
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(agrees(counts[i], weights[i] / 10));
}

TEST_CASE("a photon enters the slab whose face it reaches first, wherever the search begins") {
  RandomStream random(5, 0);
  for (const int sectors : {6, 7, 28, 64}) {
    const RingTracer tracer(ring_of_sectors(sectors));
    for (int i = 0; i < 20000; ++i) {
      const double angle = 2 * std::numbers::pi * random.uniform(), place = 2 * std::numbers::pi * random.uniform();
      const double radius = 99.9 * std::sqrt(random.uniform()), cosine = 0.9 * random.symmetric();
      const double sine = std::sqrt(1 - cosine * cosine);
      const Vec3d p{radius * std::cos(place), radius * std::sin(place), 10 * random.symmetric()};
      const Vec3d u{sine * std::cos(angle), sine * std::sin(angle), cosine};
      double nearest = 1e9;
      for (int k = 0; k < sectors; ++k) {
        const double turn = 2 * std::numbers::pi * k / sectors;
        const Vec3d n{std::cos(turn), std::sin(turn), 0};
        if (dot(u, n) > 1e-12) nearest = std::min(nearest, (100 - dot(p, n)) / dot(u, n));
      }
      const auto entry = tracer.enter(p, u, 300 * random.symmetric());
      REQUIRE(entry.path_mm == approx(nearest).epsilon(1e-9));
      const double turn = 2 * std::numbers::pi * entry.sector / sectors;
      REQUIRE(entry.cosine == approx(u.x * std::cos(turn) + u.y * std::sin(turn)).epsilon(1e-9));
    }
  }
}

TEST_CASE("photons stop in a slab by its mean free paths along them") {
  RingScanner ring = ring_of_sectors(16);
  ring.layers = {{10, 0.5}, {20, 0.8}};
  const RingTracer tracer(ring);
  const auto straight = tracer.enter({}, {1, 0, 0}, 100);
  CHECK(tracer.stopping(straight) == approx(1 - std::exp(-2.1)).epsilon(1e-12));
  const auto oblique = tracer.enter({}, {0.6, 0, 0.8}, 100);
  CHECK(tracer.stopping(oblique) == approx(1 - std::exp(-2.1 / 0.6)).epsilon(1e-12));
  CHECK(oblique.path_mm == approx(100 / 0.6));
}

TEST_CASE("weighted lines of decays are uniform over the disc and the directions that the ring sees") {
  // A cylinder half covered by an inactive box, so that parts of cells are whole, cut and covered.
  std::vector<Solid> solids{Solid(Shape::cylinder, {10, 0, 0}, {50, 50, 5}),
                            Solid(Shape::box, {35, 0, 0}, {25, 60, 9})};
  solids[0].activity_Bq_mL = 1000;
  solids[1].activity_Bq_mL = 0;
  const Phantom phantom("half", solids);
  const RingBounds ring{100, 40};
  // Any positive chance may guide the draws, if kept lines are weighted by its inverse.
  const DecaySampler sampler(
      phantom, ring, [](const Decay& d) { return 1.2 + d.direction.x; }, 0);
  RandomStream random(6, 0);
  double kept = 0, squares = 0, upper = 0, steep = 0, x_sum = 0;
  for (int i = 0; i < draws; ++i) {
    const auto decay = sampler.draw(phantom, random);
    if (!decay) continue;
    const Vec3d p = decay->point_mm, u = decay->direction;
    REQUIRE(phantom.activity_at(p) > 0);
    REQUIRE(std::abs(norm(u) - 1) < 1e-14);
    const Vec3d ahead = p + decay->ahead_mm * u, behind = p - decay->behind_mm * u;
    REQUIRE(std::hypot(ahead.x, ahead.y) == approx(100).epsilon(1e-12));
    REQUIRE(std::hypot(behind.x, behind.y) == approx(100).epsilon(1e-12));
    REQUIRE(std::max(std::abs(ahead.z), std::abs(behind.z)) < 40 * (1 + 1e-12));
    kept += decay->weight;
    squares += decay->weight * decay->weight;
    upper += p.y > 0 ? decay->weight : 0;
    steep += u.x * u.y > 0 ? decay->weight : 0;
    x_sum += p.x * decay->weight;
  }
  // Mirror planes halve the sums.
  const double sigma = std::sqrt(squares);
  CHECK(std::abs(upper - 0.5 * kept) < 2.5 * sigma);
  CHECK(std::abs(steep - 0.5 * kept) < 2.5 * sigma);
  // The share seen varies little over the disc, so the mean of x is near the half disc's.
  CHECK(x_sum / kept == approx(10 - 4 * 50 / (3 * std::numbers::pi)).epsilon(0.05));
  // Draws x weights at the rate of draws give the decays a second whose lines are seen; the solid angle of the middle
  // bounds these within a few per cent.
  const double decays = 1000e-3 * 0.5 * std::numbers::pi * 2500 * 10, share = 40 / std::hypot(100.0, 40.0);
  CHECK(sampler.rate() * kept / draws < 1.02 * decays * share);
  CHECK(sampler.rate() * kept / draws > 0.85 * decays * share);
}
// SPDX-License-Identifier: Apache-2.0
