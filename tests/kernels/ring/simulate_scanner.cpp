// Scanners made from their figures: positions, numbering, transforms, coincidences and closed-form efficiencies.
#include <numbers>

#include "kernels/math/interaction_depth.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// Two layers, two rings of modules, gaps everywhere: small enough to enumerate.
RingScanner layered_ring() {
  RingScanner ring;
  ring.name = "small";
  ring.inner_radius_mm = 100;
  ring.modules_transaxial = 16;
  ring.modules_axial = 2;
  ring.crystals_transaxial = 4;
  ring.crystals_axial = 3;
  ring.crystal_transaxial_mm = 7;
  ring.crystal_axial_mm = 8;
  ring.pitch_transaxial_mm = 7.5;
  ring.pitch_axial_mm = 9;
  ring.module_pitch_axial_mm = 30;
  ring.layers = {{6, 0.8}, {10, 0.6}};
  ring.min_sector_difference = 3;
  return ring;
}

double distance(Vec3 a, Vec3d b) {
  return norm(a.as<double>() - b);
}

}  // namespace

TEST_CASE("detectors lie at the mean depth of interaction in the crystals that the figures say") {
  const RingScanner ring = layered_ring();
  const double near = mean_interaction_depth(6, 0.08), far = 6 + mean_interaction_depth(10, 0.06);
  CHECK(near < 3);
  CHECK(far < 11);
  const auto scanner = make_scanner(ring);
  CHECK(scanner->detectors->size() == 16 * 2 * 4 * 3 * 2);
  // element = transaxial + 4 (axial + 3 layer), module = sector + 16 ring, by hand:
  const auto detector = [](int sector, int along, int across, int axial, int layer) {
    return static_cast<std::uint32_t>(across + 4 * (axial + 3 * layer) + 24 * (sector + 16 * along));
  };
  const auto position = [&](std::uint32_t d) { return scanner->detectors->position(d); };
  CHECK(distance(position(detector(0, 0, 0, 0, 0)), {100 + near, -11.25, -24}) < 1e-4);
  CHECK(distance(position(detector(0, 1, 3, 2, 1)), {100 + far, 11.25, 24}) < 1e-4);
  CHECK(distance(position(detector(4, 0, 0, 1, 0)), {11.25, 100 + near, -15}) < 1e-4);
  CHECK(distance(position(detector(8, 1, 1, 1, 1)), {-100 - far, 3.75, 15}) < 1e-4);
  CHECK(scanner->module_of(detector(5, 1, 2, 2, 1)) == 21);
}

TEST_CASE("a header's transforms of the box give the detectors, and boxes do not overlap") {
  const RingScanner ring = layered_ring();
  const auto scanner = make_scanner(ring);
  const RingGeometry geometry = ring_geometry(ring);
  Vec3d mean;
  for (const Vec3& corner : geometry.crystal_corners) mean = mean + 0.125 * corner.as<double>();
  REQUIRE(geometry.element_transforms.size() == 24);
  REQUIRE(geometry.module_transforms.size() == 32);
  double worst = 0;
  for (std::uint32_t d = 0; d < scanner->detectors->size(); ++d) {
    // The box is centred at the crystal; the detector lies in front of that centre.
    const CrystalLayer& layer = ring.layers[d % 24 / 12];
    const Vec3d point = mean - Vec3d{0.5 * layer.depth_mm - layer.mean_depth_mm(), 0, 0};
    const Vec3d placed = apply(geometry.module_transforms[d / 24], apply(geometry.element_transforms[d % 24], point));
    worst = std::max(worst, distance(scanner->detectors->position(d), placed));
  }
  CHECK(worst < 2e-5);
  const Vec3 span = geometry.crystal_corners[7] - geometry.crystal_corners[0];
  CHECK(span == Vec3{8, 7, 8});  // the mean depth of both layers
}

TEST_CASE("ToF in ps becomes sigma in mm along the line") {
  RingScanner ring = layered_ring();
  ring.tof_fwhm_ps = 636;
  CHECK(ring.tof_sigma_mm() == approx(40.485).epsilon(1e-4));
  ring.tof_fwhm_ps = 214;
  CHECK(ring.tof_sigma_mm() == approx(13.622).epsilon(1e-4));
  ring.tof_bins = 5;
  ring.tof_bin_ps = 100;
  const auto edges = ring.tof_bin_edges_mm();
  REQUIRE(edges.size() == 6);
  CHECK(edges.front() == approx(-37.474057).epsilon(1e-7));
  CHECK(edges[3] - edges[2] == approx(14.9896229).epsilon(1e-7));
  const auto scanner = make_scanner(ring);
  REQUIRE(scanner->tof.size() == 1);
  CHECK(scanner->tof[0].sigma_mm == approx(13.622).epsilon(1e-4));
  CHECK(scanner->tof[0].bin_width_mm == approx(14.9896229).epsilon(1e-6));
}

TEST_CASE("modules count coincidences by their sector and ring differences") {
  RingScanner ring = layered_ring();
  ring.max_module_ring_difference = 0;
  const auto scanner = make_scanner(ring);
  const auto allowed = [&](int module1, int module2) {
    return scanner->in_coincidence(static_cast<std::uint32_t>(24 * module1),
                                   static_cast<std::uint32_t>(24 * module2 + 5));
  };
  CHECK(allowed(8, 0));
  CHECK(allowed(0, 3));
  CHECK_FALSE(allowed(0, 2));
  CHECK(allowed(0, 13));
  CHECK_FALSE(allowed(15, 1));
  CHECK_FALSE(allowed(24, 0));
  CHECK(scanner->efficiency(24 * 8, 24 * 1 + 3) > 0);
  CHECK(scanner->efficiency(24 * 2, 24 * 1) == 0);
}

TEST_CASE("the efficiency of two facing crystals follows the formula") {
  RingScanner ring = layered_ring();
  ring.crystals_transaxial = 1;
  ring.crystals_axial = 1;
  ring.modules_axial = 1;
  ring.layers = {{20, 0.83}};
  const auto scanner = make_scanner(ring);
  const double depth = 20 * 0.083, response = 7 * 8 * (1 - std::exp(-depth));
  const double mean_depth = 20 * (1 / depth - 1 / std::expm1(depth));
  const double length = 2 * (100 + mean_depth);
  CHECK(scanner->efficiency(0, 8) ==
        approx(1e-3 * response * response / (2 * std::numbers::pi * length * length)).epsilon(1e-5));
  // Two sectors off: both crystals are seen at 22.5 degrees.
  const double c = std::cos(std::numbers::pi / 8);
  const double oblique = 7 * 8 * c * (1 - std::exp(-depth / c));
  CHECK(scanner->efficiency(6, 0) ==
        approx(1e-3 * oblique * oblique / (2 * std::numbers::pi * length * length * c * c)).epsilon(1e-5));
}

TEST_CASE("layers share the photons of a crystal without layers") {
  RingScanner one = layered_ring();
  one.layers = {{16, 0.7}};
  RingScanner two = one;
  two.layers = {{6, 0.7}, {10, 0.7}};
  const GeometricEfficiency whole = make_scanner(one)->geometric;
  const GeometricEfficiency parts = make_scanner(two)->geometric;
  for (const float cosine : {1.0f, 0.9f, 0.5f, 0.1f})
    CHECK(element_response(parts.elements[0], cosine) + element_response(parts.elements[12], cosine) ==
          approx(element_response(whole.elements[0], cosine)).epsilon(1e-5));
  CHECK(element_response(whole.elements[0], 0.0f) == 0);
  CHECK(element_response(whole.elements[0], -0.5f) == 0);
}

TEST_CASE("tables by classes of module pairs hold the closed form") {
  const RingScanner ring = layered_ring();
  const auto closed = make_scanner(ring);
  const auto tables = with_efficiency_tables(ring);
  REQUIRE(tables);
  CHECK(tables->geometric.empty());
  CHECK(tables->pair_tables.size() == 2 * 11);  // 16 sector steps less those below 3, two ring steps
  double worst = 0;
  for (std::uint32_t d1 = 0; d1 < closed->detectors->size(); d1 += 5)
    for (std::uint32_t d2 = 0; d2 < d1; d2 += 3) {
      const double a = static_cast<double>(closed->efficiency(d1, d2));
      const double b = static_cast<double>(tables->efficiency(d1, d2));
      if (a == 0 || b == 0) {
        CHECK(a == b);
      } else {
        worst = std::max(worst, std::abs(a / b - 1));
      }
    }
  CHECK(worst < 2e-5);
  CHECK(with_efficiency_tables(ring, 22 * 24 * 24 * 4 - 1) == nullptr);
}

TEST_CASE("a total-body scanner has half a million detectors") {
  RingScanner ring;
  ring.inner_radius_mm = 393;
  ring.modules_transaxial = 24;
  ring.modules_axial = 8;
  ring.crystals_transaxial = 35;
  ring.crystals_axial = 84;
  ring.crystal_transaxial_mm = ring.crystal_axial_mm = 2.76;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 2.85;
  ring.module_pitch_axial_mm = 241.9;
  const auto scanner = make_scanner(ring);
  CHECK(scanner->detectors->size() == 564480);
  CHECK(scanner->efficiency(564479, 564480 / 2 + 17) >= 0);
  CHECK(with_efficiency_tables(ring) == nullptr);
}

TEST_CASE("a scanner that cannot be is refused by name") {
  const auto refused = [](auto&& change, const char* why) {
    RingScanner ring = layered_ring();
    change(ring);
    CHECK_THROWS_WITH_AS(make_scanner(ring), doctest::Contains(why), std::invalid_argument);
  };
  refused([](RingScanner& r) { r.inner_radius_mm = NAN; }, "scanner small: inner_radius_mm");
  refused([](RingScanner& r) { r.inner_radius_mm = 40; }, "too wide for the ring");
  refused([](RingScanner& r) { r.pitch_axial_mm = 7; }, "wider than their pitch");
  refused([](RingScanner& r) { r.module_pitch_axial_mm = 20; }, "overlap along the axis");
  refused([](RingScanner& r) { r.layers.clear(); }, "1 to 16 layers");
  refused([](RingScanner& r) { r.layers[1].attenuation_per_cm = NAN; }, "attenuation");
  refused([](RingScanner& r) { r.tof_bins = 5; }, "ToF bins need");
  refused([](RingScanner& r) { r.min_sector_difference = 9; }, "min_sector_difference");
  refused([](RingScanner& r) { r.crystals_axial = 1 << 30; }, "crystals along an edge");
}
// SPDX-License-Identifier: Apache-2.0
