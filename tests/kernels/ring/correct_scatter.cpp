// The scatter estimate's coordinates and interpolation: the same line either way round, linear functions exactly, and
// continuity over half a turn.
#include <numbers>
#include <random>

#include "kernels/ring/correct/scatter.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr float scatter_pi = std::numbers::pi_v<float>;

/// Values of f(s, phi, z_a, z_b, tof) at the samples.
template <class F>
ScatterEstimate filled(F&& f) {
  ScatterEstimate e{{7, 6, 4, 4, 5}, 30, 25, 40, {}};
  const auto at = [&](int k, std::size_t axis, float spacing) {
    return (static_cast<float>(k) - 0.5f * static_cast<float>(e.size[axis] - 1)) * spacing;
  };
  for (int t = 0; t < e.size[4]; ++t)
    for (int b = 0; b < e.size[3]; ++b)
      for (int a = 0; a < e.size[2]; ++a)
        for (int p = 0; p < e.size[1]; ++p)
          for (int s = 0; s < e.size[0]; ++s)
            e.values.push_back(f(at(s, 0, 30), static_cast<float>(p) * scatter_pi / static_cast<float>(e.size[1]),
                                 at(a, 2, 25), at(b, 3, 25), at(t, 4, 40)));
  validate(e);
  return e;
}

float linear(float s, float phi, float a, float b, float t) {
  return 100 + 0.3f * s + 5 * phi - 0.4f * a + 0.2f * b + 0.15f * t;
}

}  // namespace

TEST_CASE("a line has one place in the sinogram, whichever detector comes first") {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> any(-200, 200);
  for (int i = 0; i < 1000; ++i) {
    const Lor lor{{any(random), any(random), any(random)}, {any(random), any(random), any(random)}, any(random)};
    const SinogramPlace one = sinogram_place(lor), other = sinogram_place({lor.end2, lor.end1, -lor.tof_mm});
    CHECK(one.phi >= 0);
    CHECK(one.phi <= scatter_pi + 1e-6f);
    // The foot of the perpendicular from the axis, and ToF as a point of the line.
    const Vec3 along = (1 / norm(lor.end2 - lor.end1)) * (lor.end2 - lor.end1);
    CHECK(lor.end1.x * std::cos(one.phi) + lor.end1.y * std::sin(one.phi) == approx(one.s).epsilon(1e-4));
    CHECK(lor.end2.x * std::cos(one.phi) + lor.end2.y * std::sin(one.phi) == approx(one.s).epsilon(2e-3).scale(200));
    CHECK(one.tof * (along.x * -std::sin(one.phi) + along.y * std::cos(one.phi)) * lor.tof_mm >= 0);
    CHECK(other.phi == approx(one.phi).epsilon(1e-5));
    CHECK(other.s == approx(one.s).epsilon(1e-3).scale(200));
    CHECK(other.z_a == one.z_a);
    CHECK(other.z_b == one.z_b);
    CHECK(other.tof == one.tof);
  }
}

TEST_CASE("samples lie on the lines that the estimate names, and keep their values") {
  const ScatterEstimate e = filled(linear);
  for (int t = 0; t < 5; ++t)
    for (int p = 0; p < 6; ++p)
      for (int s = 0; s < 7; ++s) {
        const Lor line = e.line({s, p, 1, 3, t}, 300);
        const float k[3] = {static_cast<float>(s), static_cast<float>(p), static_cast<float>(t)};
        const float there = linear((k[0] - 3) * 30, k[1] * scatter_pi / 6, -12.5f, 37.5f, (k[2] - 2) * 40);
        CHECK(scatter_at(e, sinogram_place(line)) == approx(there).epsilon(1e-4));
      }
}

TEST_CASE("a linear function is reproduced between samples") {
  const ScatterEstimate e = filled(linear);
  std::mt19937 random(5);
  const auto any = [&](float low, float high) { return std::uniform_real_distribution<float>(low, high)(random); };
  for (int i = 0; i < 1000; ++i) {
    const SinogramPlace place{any(-90, 90), any(0, scatter_pi * 5 / 6), any(-37, 37), any(-37, 37), any(-80, 80)};
    CHECK(scatter_at(e, place) == approx(linear(place.s, place.phi, place.z_a, place.z_b, place.tof)).epsilon(1e-5));
  }
}

TEST_CASE("half a turn on, the line is turned over, and beyond the samples values stay") {
  const ScatterEstimate e =
      filled([](float s, float, float a, float b, float t) { return 300 + s - a + 2 * b + t / 4; });
  CHECK(scatter_at(e, {40, scatter_pi, 10, -20, 30}) == approx(scatter_at(e, {-40, 0, -20, 10, -30})).epsilon(1e-5));
  const float middle = scatter_at(e, {40, scatter_pi * 11 / 12, 10, -20, 30});
  CHECK(middle == approx(0.5f * (scatter_at(e, {40, scatter_pi * 10 / 12, 10, -20, 30}) +
                                 scatter_at(e, {40, scatter_pi, 10, -20, 30})))
                      .epsilon(1e-5));
  CHECK(scatter_at(e, {500, 1, 0, 0, 0}) == scatter_at(e, {90, 1, 0, 0, 0}));
  CHECK(scatter_at(e, {0, 1, -400, 0, 900}) == scatter_at(e, {0, 1, -37.5f, 0, 80}));
}

TEST_CASE("without ToF the samples are summed, width by width") {
  const ScatterEstimate e = filled(linear), lines = e.without_tof();
  CHECK_FALSE(lines.has_tof());
  CHECK(scatter_at(lines, {30, 0, 12.5f, 12.5f, 77}) == approx(5 * 40 * linear(30, 0, 12.5f, 12.5f, 0)));
}

TEST_CASE("an estimate that does not fit together is refused") {
  const auto refused = [](ScatterEstimate e, const char* why) {
    CHECK_THROWS_WITH(validate(e), doctest::Contains(why));
  };
  refused({{2, 1, 1, 1, 1}, 1, 1, 1, {1}}, "2 samples has 1 values");
  refused({{1, 1, 2, 1, 1}, 1, 1, 1, {1, 1}}, "not 2 and 1");
  refused({{1, 1, 1, 1, 1}, 0, 1, 1, {1}}, "0 mm apart");
  refused({{1, 1, 1, 1, 1}, 1, 1, 1, {-1}}, "holds -1");
}
// SPDX-License-Identifier: Apache-2.0
