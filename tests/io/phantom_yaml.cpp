// Phantoms in YAML: shapes and regions as written, the shared ones against their standards, one clear
// line for a mistake.
#include "gadgets/io/yaml/phantom_yaml.hpp"

#include <numbers>

#include "tests/support/approx.hpp"

using namespace tofstream;
using formats::parse_phantom;
using formats::PhantomRegion;
using formats::RegionRole;

namespace {

constexpr double pi = std::numbers::pi;

formats::PhantomFile shared(const std::string& name) {
  return formats::read_phantom("share/phantoms/" + name + ".yaml");
}

void refused_solids(const std::string& solids, const std::string& message) {
  CHECK_THROWS_WITH_AS(parse_phantom("name: p\nsolids:\n" + solids, "p.yaml"), doctest::Contains(message.c_str()),
                       std::runtime_error);
}

}  // namespace

TEST_CASE("shapes have the sizes that their keys say") {
  const auto file = parse_phantom(R"(name: shapes
solids:
  - {shape: sphere, diameter_mm: 10, centre_mm: [1, 2, 3], activity_Bq_mL: 5}
  - {shape: ellipsoid, half_axes_mm: [1, 2, 3], mu_per_cm: 0.1}
  - {shape: cylinder, radius_mm: 4, length_mm: 20, activity_Bq_mL: 1, mu_per_cm: 0.2}
  - {shape: cylinder, radii_mm: [4, 2], length_mm: 20, half: [0, 1, 0], activity_Bq_mL: 1}
  - {shape: box, size_mm: [2, 4, 6], rotation_deg: [0, 0, 90], centre_mm: [100, 0, 0], name: brick, mu_per_cm: 0.3}
  - {shape: rods, diameter_mm: 2, angle_deg: 0, radius_mm: 12, length_mm: 10, activity_Bq_mL: 7}
regions:
  - {name: spot, role: hot, centre_mm: [1, 2, 3], diameter_mm: 10, slices_mm: [0, 1.5]}
)",
                                  "shapes.yaml");
  const auto& solids = file.phantom.solids();
  REQUIRE(solids.size() == 5 + 4);  // rods 4 mm apart in rows of 1, 2 and 3, less two at the rim
  CHECK(solids[0].volume_mm3() == approx(pi / 6 * 1000));
  CHECK(solids[0].centre_mm() == Vec3d{1, 2, 3});
  CHECK(solids[0].activity_Bq_mL == 5);
  CHECK_FALSE(solids[0].mu_per_cm);
  CHECK(solids[1].volume_mm3() == approx(8 * pi));
  CHECK(solids[2].volume_mm3() == approx(320 * pi));
  CHECK(solids[3].volume_mm3() == approx(80 * pi));
  CHECK(solids[4].volume_mm3() == approx(48));
  CHECK(solids[4].bounds().high.x == approx(102));
  CHECK(solids[4].name == "brick");
  CHECK(solids[8].activity_Bq_mL == 7);
  REQUIRE(file.regions.size() == 1);
  CHECK(file.regions[0].role == RegionRole::hot);
  CHECK(file.regions[0].slices_mm == std::vector<double>{0, 1.5});
}

TEST_CASE("the NEMA phantom has its outline, contrast and regions") {
  const auto file = shared("nema_iq");
  const Phantom& phantom = file.phantom;
  const Box3 box = phantom.bounds();  // the arc's hidden half reaches lower
  CHECK(box.low.x == approx(-147));
  CHECK(box.high.x == approx(147));
  CHECK(box.low.y == approx(-112));
  // 294 mm across at the arc's centre, 224 mm high, along the axis from -110 to 70.
  CHECK(phantom.attenuation({-300, 35.001, 30}, {300, 35.001, 30}) == approx(0.096 * 29.4).epsilon(1e-4));
  CHECK(phantom.attenuation({60, -300, 30}, {60, 300, 30}) ==
        approx(0.0096 * (77 + std::sqrt(147 * 147 - 3600))).epsilon(1e-6));
  CHECK(phantom.mu_at({100, 0, 69}) == 0.096);
  CHECK(phantom.mu_at({100, 0, 71}) == 0);
  CHECK(phantom.mu_at({0, 0, 0}) == 0.029);
  // Area: half of the large disc, two quarters of the small ones, the bottom between them.
  const double body = (pi / 2 * 147 * 147 + pi / 2 * 77 * 77 + 140 * 77 - pi * 625) * 180;
  const auto ball = [](double d) { return pi / 6 * d * d * d; };
  const double hot = ball(10) + ball(13) + ball(17) + ball(22), cold = ball(28) + ball(37);
  CHECK(phantom.total_activity_Bq() == approx(5.3 * (body + 3 * hot - cold)).epsilon(2e-3));

  int hot_regions = 0, cold_regions = 0, background = 0;
  for (const PhantomRegion& region : file.regions) {
    hot_regions += region.role == RegionRole::hot;
    cold_regions += region.role == RegionRole::cold;
    if (region.role == RegionRole::hot) CHECK(phantom.activity_at(region.centre_mm) == 21200);
    if (region.role == RegionRole::cold) CHECK(phantom.activity_at(region.centre_mm) == 0);
    if (region.role != RegionRole::background) continue;
    ++background;
    CHECK(region.slices_mm.size() == 5);
    CHECK(region.diameter_mm == 37);
    // The whole disc is background, with 15 mm more of the body around it.
    for (int k = 0; k < 72; ++k)
      for (const double z : region.slices_mm) {
        const Vec3d way{std::cos(k * pi / 36), std::sin(k * pi / 36), 0};
        const Vec3d at = region.centre_mm + Vec3d{0, 0, z};
        CHECK(phantom.activity_at(at + 18.5 * way) == 5300);
        CHECK(phantom.mu_at(at + 33.5 * way) > 0);
      }
  }
  CHECK(hot_regions == 4);
  CHECK(cold_regions == 2);
  CHECK(background == 12);
}

TEST_CASE("shared phantoms emit, and their regions lie within them") {
  for (const std::string name :
       {"nema_iq", "hot_rods", "uniform_cylinder", "point_grid", "torso", "mouse", "cylinder_35cm"}) {
    const auto file = shared(name);
    CHECK(file.phantom.name() == name);
    CHECK(file.phantom.total_activity_Bq() > 1000);
    for (const PhantomRegion& region : file.regions) {
      CHECK(file.phantom.mu_at(region.centre_mm) > 0);
      if (region.role != RegionRole::background && region.role != RegionRole::lung)
        for (const double sign : {-1.0, 1.0})
          CHECK(file.phantom.activity_at(region.centre_mm) ==
                file.phantom.activity_at(region.centre_mm + Vec3d{sign * 0.49 * region.diameter_mm, 0, 0}));
    }
  }
  // Six sectors of rods, each rod clear of the others.
  const auto rods = shared("hot_rods").phantom.solids();
  CHECK(rods.size() == 1 + 83 + 45 + 19 + 10 + 6 + 4);  // the body, then each sector's
  double nearest = 1e9;
  for (std::size_t i = 1; i < rods.size(); ++i)
    for (std::size_t j = 1; j < i; ++j)
      nearest = std::min(
          nearest, norm(rods[i].centre_mm() - rods[j].centre_mm()) - rods[i].half_axis_mm(0) - rods[j].half_axis_mm(0));
  CHECK(nearest > 1.1);
}

TEST_CASE("the strips' phantom has its six ellipses, turned from z to y, and regions well inside") {
  const auto file = shared("jpet_strip");
  const auto at = [&](double along, double up) { return file.phantom.activity_at({0, up, along}); };
  CHECK(at(0, 59) == 3000);
  CHECK(at(31, 0) == 1000);
  CHECK(at(119, 0) == 1000);
  CHECK(at(0, 111) == 0);
  CHECK(at(35, 66) == 7000);
  CHECK(at(60, 78) == 5000);
  // The long axis of B points from its centre to z + 33 sin 40 and y + 33 cos 40, that of C to z - 33 sin 45.
  CHECK(at(50 + 0.99 * 21.2, -62 + 0.99 * 25.3) == 3000);
  CHECK(at(50 - 0.99 * 21.2, -62 + 0.99 * 25.3) == 1000);
  CHECK(at(-50 - 0.99 * 23.3, -63 + 0.99 * 23.3) == 5000);
  CHECK(at(-50 + 0.99 * 23.3, -63 + 0.99 * 23.3) == 1000);
  CHECK(file.regions.size() == 6);
  for (const PhantomRegion& region : file.regions) {
    CAPTURE(region.name);
    CHECK(region.across == 0);
    const double activity = file.phantom.activity_at(region.centre_mm), radius = 0.5 * region.diameter_mm;
    for (int k = 0; k < 16; ++k)
      CHECK(file.phantom.activity_at(region.centre_mm +
                                     Vec3d{0, radius * std::cos(0.4 * k), radius * std::sin(0.4 * k)}) == activity);
  }
}

TEST_CASE("a mistake in a phantom is one line that says where and what") {
  refused_solids(
      "  - {shape: cone, activity_Bq_mL: 1}\n",
      "p.yaml:3:13: phantom.solids[0].shape must be one of sphere, ellipsoid, cylinder, box, rods, not 'cone'");
  refused_solids("  - {shape: sphere, diameter_mm: 3}\n",
                 "p.yaml:3:5: phantom.solids[0] needs 'activity_Bq_mL', 'mu_per_cm' or both");
  refused_solids(
      "  - {shape: sphere, diameter_mm: 3, radius_mm: 2, mu_per_cm: 1}\n",
      "p.yaml:3:37: phantom.solids[0]: 'sphere' has no 'radius_mm'; it has diameter_mm, and may have centre_mm");
  refused_solids("  - {shape: cylinder, radii_mm: [1, 2], mu_per_cm: 1}\n",
                 "p.yaml:3:5: phantom.solids[0]: 'cylinder' needs 'length_mm'");
  refused_solids("  - {shape: sphere, diameter_mm: 3, activity_Bq_mL: -2}\n",
                 "p.yaml:3:53: phantom.solids[0].activity_Bq_mL must be in [0, ");
  refused_solids("  - {shape: box, size_mm: [1, 0, 1], mu_per_cm: 1}\n", "positive finite sizes");
  refused_solids("  - {shape: box, size_mm: [1, x, 1], mu_per_cm: 1}\n",
                 "p.yaml:3:31: phantom.solids[0].size_mm[1] must be a number, not 'x'");
  refused_solids(
      "  - {shape: sphere, mu_per_cm: 1}\n  - {shape: box, mu_per_cm: 1}\n",
      "p.yaml:3:5: phantom.solids[0]: 'sphere' needs 'diameter_mm'; p.yaml:4:5: phantom.solids[1]: 'box' needs");
  refused_solids("  []\n", "p.yaml:1:1: a phantom needs 'solids', a list of at least one");
  refused_solids("  - 7\n", "p.yaml:3:5: phantom.solids[0] must be a map, not '7'");
  refused_solids("  - {shape: sphere, diameter_mm: 3, mu_per_cm: 1\n", "p.yaml:4:1: ");
  CHECK_THROWS_AS(formats::read_phantom("share/phantoms"), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
