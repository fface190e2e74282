// The mean depth of interaction, and its purpose: lines of response of a point far from the axis meet at the point.
#include "kernels/math/interaction_depth.hpp"

#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// The mean of depth weighted with exp(-mu depth), by the midpoint rule.
double mean_by_sum(double depth, double mu) {
  constexpr int steps = 200000;
  double sum = 0, weight = 0;
  for (int i = 0; i < steps; ++i) {
    const double at = (i + 0.5) * depth / steps, w = std::exp(-mu * at);
    sum += w * at;
    weight += w;
  }
  return sum / weight;
}

RingScanner demo_ring(std::vector<CrystalLayer> layers) {
  RingScanner ring;
  ring.inner_radius_mm = 250;
  ring.modules_transaxial = 32;
  ring.modules_axial = 3;
  ring.module_pitch_axial_mm = 48.5;
  ring.crystals_transaxial = ring.crystals_axial = 8;
  ring.crystal_transaxial_mm = ring.crystal_axial_mm = 5.8;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 6;
  ring.min_sector_difference = 7;
  ring.layers = std::move(layers);
  return ring;
}

/// The point nearest to all lines of response of a source at `radius_mm` on the x axis, by least squares: the sum over
/// lines of (1 - u u^T)(x - a) is 0. Lines end `deeper_mm` deeper than the detectors' points.
Vec3d meeting_point(const RingScanner& ring, double radius_mm, double deeper_mm = 0) {
  Solid point(Shape::ellipsoid, {radius_mm, 0, 0}, {.01, .01, .01});
  point.activity_Bq_mL = 1e9;
  EventSimulator simulator(ring, Phantom("point", {point}));
  const EventBatch events = simulator.next_events(60000).events;
  const auto end = [&](std::uint32_t detector) {
    const Vec3 outwards = events.scanner->geometric.module_normals[events.scanner->module_of(detector)];
    return events.detectors->position(detector).as<double>() + deeper_mm * outwards.as<double>();
  };
  double m[3][4] = {};
  for (std::int64_t i = 0; i < events.count; ++i) {
    const Vec3d a = end(events.detector1[i]), b = end(events.detector2[i]);
    const Vec3d u = (1 / norm(b - a)) * (b - a), foot = a - dot(a, u) * u;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) m[r][c] += (r == c ? 1.0 : 0.0) - u[r] * u[c];
      m[r][3] += foot[r];
    }
  }
  for (int pivot = 0; pivot < 3; ++pivot)
    for (int r = 0; r < 3; ++r) {
      if (r == pivot) continue;
      const double factor = m[r][pivot] / m[pivot][pivot];
      for (int c = pivot; c < 4; ++c) m[r][c] -= factor * m[pivot][c];
    }
  return {m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]};
}

}  // namespace

TEST_CASE("the mean depth of interaction is that of an exponential cut to the crystal") {
  for (const double depth : {1e-6, 0.01, 1.0, 8.0, 20.0, 1000.0})
    for (const double mu : {1e-4, 0.01, 0.083, 0.096, 10.0}) {
      CAPTURE(depth);
      CAPTURE(mu);
      if (mu * depth < 100) CHECK(mean_interaction_depth(depth, mu) == approx(mean_by_sum(depth, mu)).epsilon(1e-6));
    }
  CHECK(mean_interaction_depth(20, 0.083) == approx(7.3).epsilon(0.02));
  CHECK(mean_interaction_depth(20, 1e-9) == approx(10));   // nothing is shielded
  CHECK(mean_interaction_depth(20, 100) == approx(0.01));  // all interact at the face
  CHECK(mean_interaction_depth(20, 0.0005 * (1 - 1e-9)) ==
        approx(mean_interaction_depth(20, 0.0005 * (1 + 1e-9))).epsilon(1e-9));  // the series' end
}

TEST_CASE("a point off the axis lies where its lines meet") {
  struct Case {
    double radius_mm, bound;
  };
  // Detectors' points are those for photons along the crystals; oblique photons interact less deep, so a small error is
  // left.
  const RingScanner whole = demo_ring({{20, 0.83}}), layered = demo_ring({{10, 0.83}, {10, 0.83}});
  for (const auto& [radius, bound] : {Case{40, 0.0015}, Case{93, 0.0016}, Case{150, 0.0032}}) {
    CAPTURE(radius);
    const Vec3d met = meeting_point(whole, radius);
    CHECK(std::abs(met.x - radius) < bound * radius);
    CHECK(std::abs(met.y) < 0.03);
    CHECK(std::abs(met.z) < 0.03);
    CHECK(std::abs(meeting_point(layered, radius).x - radius) < 0.5 * bound * radius);
  }
  // With points in the middle of the crystals they were 1 % too far out.
  const double middle = 10 - whole.layers[0].mean_depth_mm();
  CHECK(meeting_point(whole, 93, middle).x - 93 == approx(1.05).epsilon(0.1));
}
// SPDX-License-Identifier: Apache-2.0
