// Solids and phantoms: volumes, membership, rays, overlaps, images and totals against closed forms.
#include <numbers>

#include "kernels/simulate/phantom.hpp"
#include "kernels/simulate/random.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr double pi = std::numbers::pi;

Solid filled(Solid solid, double activity, double mu) {
  solid.activity_Bq_mL = activity;
  solid.mu_per_cm = mu;
  return solid;
}

std::vector<Solid> every_shape() {
  return {Solid(Shape::ellipsoid, {3, -2, 5}, {10, 20, 30}),
          Solid(Shape::ellipsoid, {3, -2, 5}, {10, 20, 30}, {20, -30, 70}),
          Solid(Shape::cylinder, {1, 2, 3}, {15, 8, 25}, {0, 40, 10}),
          Solid(Shape::box, {-5, 0, 2}, {12, 7, 9}, {35, 10, -25}),
          Solid(Shape::cylinder, {0, 35, 0}, {30, 30, 20}, {}, {0, -1, 0}),
          Solid(Shape::ellipsoid, {0, 0, 0}, {20, 15, 10}, {10, 20, 30}, {1, 1, -0.5}),
          Solid(Shape::box, {4, 4, 4}, {10, 10, 10}, {0, 0, 45}, {0, 1, 1})};
}

}  // namespace

TEST_CASE("volumes follow the closed forms") {
  CHECK(Solid(Shape::ellipsoid, {}, {1, 2, 3}, {10, 20, 30}).volume_mm3() == approx(8 * pi).epsilon(1e-12));
  CHECK(Solid(Shape::cylinder, {}, {5, 2, 10}).volume_mm3() == approx(200 * pi).epsilon(1e-12));
  CHECK(Solid(Shape::box, {}, {1, 2, 3}).volume_mm3() == approx(48).epsilon(1e-12));
  CHECK(Solid(Shape::box, {}, {1, 2, 3}, {}, {1, 2, 3}).volume_mm3() == approx(24).epsilon(1e-12));
}

TEST_CASE("points within a solid's box fill its volume, and none lies outside its box") {
  for (const Solid& solid : every_shape()) {
    RandomStream random(1, 2);
    const Box3 box = solid.bounds();
    const Vec3d edge = box.high - box.low;
    constexpr int points = 200000;
    int inside = 0, outside = 0;
    for (int i = 0; i < points; ++i) {
      // A box larger by half on every side.
      const Vec3d u{2 * random.uniform() - 0.5, 2 * random.uniform() - 0.5, 2 * random.uniform() - 0.5};
      const bool in = solid.contains(box.low + Vec3d{u.x * edge.x, u.y * edge.y, u.z * edge.z});
      inside += in;
      outside += in && (std::abs(u.x - 0.5) > 0.5 || std::abs(u.y - 0.5) > 0.5 || std::abs(u.z - 0.5) > 0.5);
    }
    const double share = static_cast<double>(inside) / points;
    const double volume = 8 * edge.x * edge.y * edge.z * share;
    const double sigma = std::sqrt((1 - share) / (share * points));
    CHECK(outside == 0);
    CHECK(std::abs(volume / solid.volume_mm3() - 1) < 4 * sigma);
  }
}

TEST_CASE("a ray is inside a solid exactly within its interval") {
  RandomStream random(3, 4);
  for (const Solid& solid : every_shape()) {
    int hits = 0;
    for (int ray = 0; ray < 300; ++ray) {
      const Vec3d origin = solid.centre_mm() + 40.0 * Vec3d{random.symmetric(), random.symmetric(), random.symmetric()};
      const Vec3d direction =
          solid.centre_mm() - origin + 12.0 * Vec3d{random.symmetric(), random.symmetric(), random.symmetric()};
      const Interval in = solid.intersect(origin, direction);
      hits += !in.empty();
      for (int i = 0; i < 40; ++i) {
        const double t = 4 * random.uniform() - 1;
        const bool expected = !in.empty() && t > in.begin && t < in.end;
        CHECK(solid.contains(origin + t * direction) == expected);
      }
    }
    CHECK(hits > 50);
  }
}

TEST_CASE("rays along an axis, in a face's plane and past a corner") {
  const Solid cylinder(Shape::cylinder, {}, {10, 10, 20});
  CHECK(cylinder.intersect({3, 4, -100}, {0, 0, 1}).length() == approx(40));
  CHECK(cylinder.intersect({0, 0, 0}, {0, 2, 0}).length() == approx(10));
  CHECK(cylinder.intersect({11, 0, -100}, {0, 0, 1}).empty());
  CHECK(cylinder.intersect({-50, 0, 21}, {1, 0, 0}).empty());
  const Solid half(Shape::ellipsoid, {}, {10, 10, 10}, {}, {0, 0, 1});
  CHECK(half.intersect({0, 0, -50}, {0, 0, 1}).length() == approx(10));
  CHECK(half.intersect({-50, 0, -1}, {1, 0, 0}).empty());
  CHECK(half.intersect({-50, 0, 6}, {1, 0, 0}).length() == approx(16));
}

TEST_CASE("the last solid that names a quantity wins") {
  std::vector<Solid> solids{filled(Solid(Shape::cylinder, {}, {100, 100, 100}), 10, 0.1),
                            filled(Solid(Shape::ellipsoid, {}, {50, 50, 50}), 40, 0.2),
                            Solid(Shape::ellipsoid, {}, {20, 20, 20}), Solid(Shape::ellipsoid, {}, {10, 10, 10})};
  solids[2].activity_Bq_mL = 0;
  solids[3].mu_per_cm = 0.05;
  const Phantom phantom("nested", solids);
  CHECK(phantom.activity_at({0, 0, 0}) == 0);
  CHECK(phantom.mu_at({0, 0, 0}) == 0.05);
  CHECK(phantom.mu_at({15, 0, 0}) == 0.2);
  CHECK(phantom.activity_at({30, 0, 0}) == 40);
  CHECK(phantom.activity_at({70, 0, 0}) == 10);
  CHECK(phantom.activity_at({0, 0, 101}) == 0);
  // Across the middle: 2 (50 mm of 0.1, 40 of 0.2, 10 of 0.05) per cm; 2 (50 of 10, 30 of 40).
  CHECK(phantom.attenuation({-300, 0, 0}, {300, 0, 0}) == approx(2.7).epsilon(1e-12));
  CHECK(phantom.activity_integral({-300, 0, 0}, {300, 0, 0}) == approx(3400).epsilon(1e-12));
  CHECK(phantom.attenuation({0, 0, 0}, {60, 0, 0}) == approx(0.95).epsilon(1e-12));
  CHECK(phantom.line_attenuation({0, 300, 0}, {0, 1, 0}) == approx(2.7).epsilon(1e-12));
  const double balls = 4.0 / 3 * pi * (30 * (125000 - 8000) - 10 * 8000);
  const double total = 1e-3 * (10 * 2e6 * pi + balls);
  CHECK(phantom.total_activity_Bq() == approx(total).epsilon(2e-3));
}

TEST_CASE("line integrals through overlapping solids equal a fine sum of the values") {
  std::vector<Solid> solids = every_shape();
  for (std::size_t i = 0; i < solids.size(); ++i)
    solids[i] = filled(solids[i], 1 + static_cast<double>(i * i), 0.02 * static_cast<double>(i + 1));
  const Phantom phantom("overlapping", solids);
  RandomStream random(5, 6);
  for (int ray = 0; ray < 30; ++ray) {
    const Vec3d a{60 * random.symmetric(), -60, 60 * random.symmetric()};
    const Vec3d b{60 * random.symmetric(), 60, 60 * random.symmetric()};
    constexpr int steps = 20000;
    double activity = 0, mu = 0;
    for (int i = 0; i < steps; ++i) {
      const Vec3d p = a + ((i + 0.5) / steps) * (b - a);
      activity += phantom.activity_at(p) * norm(b - a) / steps;
      mu += 0.1 * phantom.mu_at(p) * norm(b - a) / steps;
    }
    CHECK(std::abs(phantom.activity_integral(a, b) - activity) < 2.0);  // of about 600
    CHECK(std::abs(phantom.attenuation(a, b) - mu) < 1e-2);
  }
}

TEST_CASE("images hold the phantom's total and its values away from edges") {
  std::vector<Solid> solids{filled(Solid(Shape::cylinder, {}, {40, 30, 25}), 10, 0.1),
                            filled(Solid(Shape::ellipsoid, {10, 5, -3}, {8, 8, 8}), 50, 0.2)};
  const Phantom phantom("pair", solids);
  const Grid grid = Grid::centred(45, 35, 30, {2, 2, 2});
  const Image activity = phantom.activity_image(grid, 4), mu = phantom.mu_image(grid, 2);
  double sum = 0;
  for (const float value : activity.voxels.span()) sum += static_cast<double>(value);
  const double ball = 4.0 / 3 * pi * 512;
  CHECK(sum * 8 == approx(10 * pi * 60000 + 40 * ball).epsilon(2e-3));
  CHECK(activity.voxels[grid.index(27, 19, 13)] == 50);  // at (10, 4, -3)
  CHECK(activity.voxels[grid.index(10, 17, 15)] == 10);
  CHECK(activity.voxels[grid.index(0, 0, 15)] == 0);
  CHECK(mu.voxels[grid.index(27, 19, 13)] == approx(0.2));
  CHECK_THROWS_AS(phantom.activity_image(grid, 0), std::invalid_argument);
}

TEST_CASE("rods fill their sector in rows and keep clear of each other") {
  const RodSector sector{4, 8, 90, 60, 0, 45};
  const auto rods = rods_of(sector, {1, 2, 3}, 10);
  REQUIRE(rods.size() > 15);  // rows of 1, 2, 3, 4, 5 and the cut one
  for (std::size_t i = 0; i < rods.size(); ++i) {
    const Vec3d offset = rods[i].centre_mm() - Vec3d{1, 2, 3};
    CHECK(std::hypot(offset.x, offset.y) + 2 <= 45 + 1e-9);
    CHECK(std::abs(std::atan2(offset.x, offset.y)) <= pi / 6);
    CHECK(rods[i].volume_mm3() == approx(4 * pi * 20));
    double nearest = 1e9;
    for (std::size_t j = 0; j < rods.size(); ++j)
      if (i != j) nearest = std::min(nearest, norm(rods[j].centre_mm() - rods[i].centre_mm()));
    CHECK(nearest == approx(8).epsilon(1e-9));
  }
  CHECK_THROWS_AS(rods_of({4, 3, 0, 60, 0, 45}, {}, 10), std::invalid_argument);
  CHECK_THROWS_AS(rods_of({1e-3, 1e-3, 0, 60, 0, 45}, {}, 10), std::invalid_argument);
}

TEST_CASE("solids and phantoms refuse what makes no sense") {
  CHECK_THROWS_AS(Solid(Shape::box, {}, {1, 0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(Solid(Shape::box, {NAN, 0, 0}, {1, 1, 1}), std::invalid_argument);
  Solid cold(Shape::box, {}, {1, 1, 1});
  cold.name = "cold";
  cold.activity_Bq_mL = -1;
  CHECK_THROWS_WITH_AS(Phantom("p", {cold}), doctest::Contains("solid 1 ('cold')"), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
