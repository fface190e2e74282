// The Monte Carlo of two strips against the closed form of their sensitivity, the given blur and the drawn places;
// direct reconstruction; a pair of strips as a scanner and back.
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/strip/direct.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/simulate.hpp"
#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr StripGeometry barrel{130, 300};
constexpr StripResolution sharp{1e-3f, 1e-3f};

std::shared_ptr<const Scanner> scanner() {
  static const auto made = make_strip_scanner("strips", barrel);
  return made;
}

Solid ellipse(double y, double z, double half_y, double half_z, double activity) {
  Solid solid(Shape::ellipsoid, {0, y, z}, {1000, half_y, half_z});
  solid.activity_Bq_mL = activity;
  return solid;
}

StripSimulator simulator(std::vector<Solid> solids, const StripResolution& resolution, std::uint64_t seed = 1) {
  return {scanner(), resolution, Phantom("test", std::move(solids)), {.seed = seed}};
}

}  // namespace

TEST_CASE("as many events come from a place as the sensitivity's closed form says") {
  for (const auto [y, z] : {std::array{0.0, 0.0}, std::array{60.0, 100.0}, std::array{-100.0, -40.0}}) {
    CAPTURE(y);
    StripSimulator small = simulator({ellipse(y, z, 1, 1, 1e6)}, sharp);
    const double expected = strip_sensitivity(barrel, y, z);
    CHECK(small.expected_cps() / small.activity_Bq() == approx(expected).epsilon(0.03));
    // The time of the events follows from the activity: pi mm^2 of 4 mm, 1 kBq/mm^3.
    const EventBatch batch = small.next_events(40'000);
    const double decays = 1e6 * 1e-3 * 4 * std::numbers::pi * batch.duration_s;
    CHECK(40'000 / decays == approx(expected).epsilon(0.02));
    CHECK(small.activity_Bq() == approx(1e3 * 4 * std::numbers::pi).epsilon(0.02));
  }
}

TEST_CASE("sharp events point at where they come from, in proportion to the activity; the last solid wins") {
  StripSimulator two = simulator({ellipse(0, 0, 40, 40, 1000), ellipse(10, 20, 10, 5, 3000)}, sharp);
  const EventBatch batch = two.next_events(60'000);
  const EventView events = batch.view();
  double inside = 0, all = 0, farthest = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const auto at = strip_emission(barrel, strip_response<double>(events, i));
    farthest = std::max(farthest, std::hypot(at.y_mm, at.z_mm));
    const double decays = 1 / strip_sensitivity(barrel, at.y_mm, at.z_mm);
    all += decays;
    if (std::hypot((at.y_mm - 10) / 10, (at.z_mm - 20) / 5) < 1) inside += decays;
  }
  CHECK(farthest < 40.01);
  CHECK(inside / all == approx(3.0 * 50 / (1600 + 2 * 50)).epsilon(0.03));
}

TEST_CASE("what is measured deviates as the resolution says, also where z and dl hang together") {
  const StripResolution blurred{.sigma_z_mm = 8, .sigma_dl_mm = 30, .gamma_per_mm2 = 1e-3f};
  // C of C^-1 = ((w, 0, g), (0, w, -g), (g, -g, v)), here at the centre of the strips.
  const double w = 1 / 64.0, v = 1 / 900.0, g = 1e-3, det = w * w * v - 2 * w * g * g;
  const double var_z = (w * v - g * g) / det, var_dl = w * w / det, cov_up_dl = -w * g / det,
               cov_up_down = -g * g / det;
  StripSimulator point = simulator({ellipse(0, 0, 0.5, 0.5, 1e6)}, blurred);
  constexpr int n = 100'000;
  const EventBatch batch = point.next_events(n);
  const EventView events = batch.view();
  double sum2 = 0, difference2 = 0, dl2 = 0, cross = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto r = strip_response<double>(events, i);
    const double sum = r.z_up_mm + r.z_down_mm, difference = r.z_up_mm - r.z_down_mm;
    sum2 += sum * sum / n;  // 0 for an exact response at the centre
    difference2 += difference * difference / n;
    dl2 += r.dl_mm * r.dl_mm / n;
    cross += difference * r.dl_mm / n;  // the exact difference is independent of dl's deviation
  }
  CHECK(sum2 == approx(2 * var_z + 2 * cov_up_down).epsilon(0.02));
  CHECK(dl2 == approx(var_dl).epsilon(0.02));
  CHECK(std::abs(cross - 2 * cov_up_dl) < 4 * std::sqrt(difference2 * dl2 / n));
  CHECK(std::abs(cross) > 5 * std::sqrt(difference2 * dl2 / n));
}

TEST_CASE("the resolution along a strip is worse at its end by what it is told") {
  const StripResolution rising{.sigma_z_mm = 5, .sigma_dl_mm = 1e-3f, .sigma_z_edge_rise = 1};
  StripSimulator off = simulator({ellipse(0, 100, 0.5, 0.5, 1e6)}, rising);  // z_u + z_d = 200 if exact
  const EventBatch batch = off.next_events(50'000);
  const EventView events = batch.view();
  double variance = 0, expected = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const auto r = strip_response<double>(events, i);
    variance += (r.z_up_mm + r.z_down_mm - 200) * (r.z_up_mm + r.z_down_mm - 200);
  }
  constexpr int steps = 1000;
  const auto angles = strip_angles(barrel, 0.0, 100.0);
  for (int k = 0; k < steps; ++k) {
    const double tan = std::tan(angles.low + (k + 0.5) / steps * (angles.high - angles.low));
    const auto exact = strip_response(barrel, StripEmission<double>{tan, 0, 100});
    expected += std::pow(strip_sigma_z(rising, barrel, exact.z_up_mm), 2) +
                std::pow(strip_sigma_z(rising, barrel, exact.z_down_mm), 2);
  }
  CHECK(variance / 50'000 == approx(expected / steps).epsilon(0.03));
}

TEST_CASE("same seed, same events, whatever the batches; another seed, others") {
  const auto ends = [](const EventBatch& batch) {
    return std::vector<float>(batch.ends[2].span().begin(), batch.ends[2].span().end());
  };
  StripSimulator one = simulator({ellipse(0, 0, 60, 60, 1000)}, {});
  StripSimulator other = simulator({ellipse(0, 0, 60, 60, 1000)}, {});
  const EventBatch whole = one.next_events(30'000);
  std::vector<float> pieces;
  double seconds = 0;
  for (const std::int64_t count : {1, 9'999, 20'000}) {
    const EventBatch batch = other.next_events(count);
    CHECK(batch.start_s == approx(seconds));
    seconds += batch.duration_s;
    const auto part = ends(batch);
    pieces.insert(pieces.end(), part.begin(), part.end());
  }
  CHECK(pieces == ends(whole));
  CHECK(seconds == approx(whole.duration_s));
  CHECK(ends(simulator({ellipse(0, 0, 60, 60, 1000)}, {}, 2).next_events(30'000)) != ends(whole));
}

TEST_CASE("what cannot be simulated is refused") {
  CHECK_THROWS_WITH(simulator({ellipse(0, 400, 5, 5, 1)}, sharp), doctest::Contains("the strips see no decay"));
  CHECK_THROWS_WITH(simulator({ellipse(0, 0, 5, 5, 0)}, sharp), doctest::Contains("the strips see no decay"));
  CHECK_THROWS_AS(simulator({ellipse(0, 0, 5, 5, 1)}, StripResolution{-1, 40}), std::invalid_argument);
  CHECK_THROWS_AS(simulator({ellipse(0, 0, 5, 5, 1)}, sharp).next_events(0), std::invalid_argument);
}

TEST_CASE("direct reconstruction counts each event in the voxel that it points at") {
  EventBatch batch = make_strip_batch(scanner(), 3);
  const StripEmission<double> at[] = {{0.5, 41, -17}, {-0.2, -129.9, 149.9}, {0, 131, 0}};
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto r = strip_response(barrel, at[i]);
    set_response(batch, i,
                 {static_cast<float>(r.z_up_mm), static_cast<float>(r.z_down_mm), static_cast<float>(r.dl_mm)});
  }
  Image counts = Image::zeros(Grid::centred(1, 65, 75, {4, 4, 4}));
  CHECK(add_direct(barrel, batch.view(), counts) == 1);
  float sum = 0;
  for (const float value : counts.voxels.span()) sum += value;
  CHECK(sum == 2);
  CHECK(counts.voxels[counts.grid.index(0, 42, 33)] == 1);  // 40 mm: 32 + 10; -16 mm: 37 - 4
  CHECK(counts.voxels[counts.grid.index(0, 0, 74)] == 1);
}

TEST_CASE("a pair of strips is a scanner, and only such a scanner is a pair of strips") {
  CHECK(strip_geometry(*scanner()) == barrel);
  CHECK(scanner()->in_coincidence(0, 1));
  CHECK_FALSE(scanner()->in_coincidence(0, 0));
  Scanner short_of_length = *scanner();
  short_of_length.types[0].element_size_mm = {};
  CHECK_THROWS_WITH(strip_geometry(short_of_length), doctest::Contains("does not say how long"));
  Scanner aside = *scanner();
  const Vec3 positions[] = {{0, 130, 0}, {0, -120, 0}};
  aside.detectors = std::make_shared<const DetectorTable>(positions);
  CHECK_THROWS_WITH(strip_geometry(aside), doctest::Contains("(0, -120, 0) mm"));
  const Vec3 three[] = {{0, 130, 0}, {0, -130, 0}, {0, 0, 0}};
  aside.detectors = std::make_shared<const DetectorTable>(three);
  CHECK_THROWS_WITH(strip_geometry(aside), doctest::Contains("it has 3 detectors"));
  CHECK_THROWS_AS(make_strip_batch(std::make_shared<const Scanner>(aside), 1), std::invalid_argument);
}

TEST_CASE("what no strips measure is told from what their resolution explains") {
  CHECK(is_measurable(barrel, {249, -249, 900}));
  CHECK(is_measurable(barrel, {0, 0, -650}));
  CHECK_FALSE(is_measurable(barrel, {251, 0, 0}));
  CHECK_FALSE(is_measurable(barrel, {0, -251, 0}));
  CHECK_FALSE(is_measurable(barrel, {0, 0, 661}));
  CHECK_FALSE(is_measurable(barrel, {std::nanf(""), 0, 0}));
  CHECK_FALSE(is_measurable(barrel, {0, 0, INFINITY}));
}
// SPDX-License-Identifier: Apache-2.0
