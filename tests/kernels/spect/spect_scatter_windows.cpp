// Scatter from energy windows: closed forms of straight spectra, and smoothing that keeps flat views flat.
#include <cmath>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/spect/scatter_windows.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

constexpr EnergyWindow peak_window{126, 154}, window_below{112, 126}, window_above{154, 161};

// Counts in a window of a spectrum a + b E per keV.
float counts_of_line(EnergyWindow window, double a, double b) {
  const auto at = [&](double e) { return a * e + 0.5 * b * e * e; };
  return static_cast<float>(at(window.high_keV) - at(window.low_keV));
}

}  // namespace

TEST_CASE("three windows of a constant spectrum give exactly its counts in the photopeak's window") {
  const ScatterWeights weights = triple_window_weights(peak_window, window_below, window_above);
  const std::vector<float> lower{14, 0, 28}, upper{7, 0, 14};
  std::vector<float> b(3);
  estimate_scatter(weights, lower, upper, b);
  CHECK(b == std::vector<float>{28, 0, 56});
}

TEST_CASE("three windows of a straight spectrum whose middles lie as far from the peak's give its counts") {
  constexpr EnergyWindow above{154, 168};
  const ScatterWeights weights = triple_window_weights(peak_window, window_below, above);
  const std::vector<float> lower{counts_of_line(window_below, 40, -0.2)}, upper{counts_of_line(above, 40, -0.2)};
  std::vector<float> b(1);
  estimate_scatter(weights, lower, upper, b);
  CHECK(b[0] == approx(counts_of_line(peak_window, 40, -0.2)).epsilon(1e-6));
}

TEST_CASE("without an upper window the trapezoid's upper end is zero") {
  const ScatterWeights triangle = triangle_weights(peak_window, window_below);
  CHECK(triangle.lower == approx(28.0 / 14 / 2));
  CHECK(triangle.lower == triple_window_weights(peak_window, window_below, window_above).lower);
  CHECK(triangle.upper == 0);
  const std::vector<float> lower{14};
  std::vector<float> b(1);
  estimate_scatter(triangle, lower, {}, b);
  CHECK(b[0] == 14);
}

TEST_CASE("a window without a width, and views of other sizes, are refused") {
  CHECK_THROWS_WITH_AS(triple_window_weights(peak_window, {}, window_above),
                       "the lower energy window, 0 to 0 keV, has no width", std::invalid_argument);
  CHECK_THROWS_AS(triangle_weights({154, 126}, window_below), std::invalid_argument);
  std::vector<float> b(2);
  const std::vector<float> one(1), two(2);
  CHECK_THROWS_AS(estimate_scatter({1, 0}, one, {}, b), std::invalid_argument);
  CHECK_THROWS_AS(estimate_scatter({1, 1}, two, {}, b), std::invalid_argument);
}

TEST_CASE("smoothing keeps a flat view flat to its edges, and spreads a point by the Gaussian's variance") {
  constexpr int size[3] = {41, 31, 1};
  ViewSmoothing smoothing(size, {4, 5, 0}, 30);
  std::vector<float> flat(41 * 31, 3.0F);
  smoothing.apply(flat);
  for (const float value : flat) CHECK(value == approx(3).epsilon(1e-6));

  ViewSmoothing narrow(size, {4, 5, 0}, 20);
  std::vector<float> point(41 * 31);
  point[15 * 41 + 20] = 100;
  narrow.apply(point);
  double sum = 0, across = 0, along = 0;
  for (int w = 0; w < 31; ++w)
    for (int u = 0; u < 41; ++u) {
      const double value = point[static_cast<std::size_t>(w * 41 + u)];
      sum += value;
      across += value * 16 * (u - 20) * (u - 20);
      along += value * 25 * (w - 15) * (w - 15);
    }
  const double variance = 20 * 20 / (8 * std::log(2.0));
  CHECK(sum == approx(100).epsilon(1e-3));
  CHECK(across / sum == approx(variance).epsilon(0.01));
  CHECK(along / sum == approx(variance).epsilon(0.01));
}
// SPDX-License-Identifier: Apache-2.0
