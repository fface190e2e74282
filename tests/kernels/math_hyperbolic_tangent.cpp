// tanh, tanh(u) / u and 1 / cosh(u)^2 of floats against the library's in double precision.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "kernels/math/hyperbolic_tangent.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("tanh of a float and what follows from it are those in double precision to 6e-7") {
  double worst = 0, worst_over = 0, worst_slope = 0, largest = 0;
  for (double size = 1e-30; size <= static_cast<double>(farthest_tangent); size *= 1.0003)
    for (const float u : {static_cast<float>(size), static_cast<float>(-size)}) {
      const double exact = static_cast<double>(u), tangent = std::tanh(exact);
      worst = std::max(worst, std::abs(static_cast<double>(hyperbolic_tangent(u)) / tangent - 1));
      worst_over = std::max(worst_over,
                            std::abs(static_cast<double>(hyperbolic_tangent_over_argument(u)) * exact / tangent - 1));
      worst_slope = std::max(worst_slope, std::abs(static_cast<double>(hyperbolic_tangent_slope(u)) -
                                                   1 / (std::cosh(exact) * std::cosh(exact))));
      largest = std::max(largest, static_cast<double>(hyperbolic_tangent(u)));
    }
  CHECK(worst < 6e-7);
  CHECK(worst_over < 6e-7);
  CHECK(worst_slope < 6e-7);
  CHECK(largest == approx(1).epsilon(3e-7));
  CHECK(hyperbolic_tangent(0.0f) == 0);
  CHECK(hyperbolic_tangent_over_argument(0.0f) == 1);
  CHECK(hyperbolic_tangent_slope(0.0f) == 1);
  CHECK(hyperbolic_tangent(farthest_tangent) == approx(1).epsilon(3e-7));
}

TEST_CASE("tanh of other numbers is the library's, however large they are") {
  for (const double u : {-700.0, -3.0, -1e-5, 0.2, 40.0}) {
    CHECK(hyperbolic_tangent(u) == std::tanh(u));
    CHECK(hyperbolic_tangent_over_argument(u) == approx(std::tanh(u) / u).epsilon(1e-14));
    CHECK(hyperbolic_tangent_slope(u) == approx(1 / std::cosh(u) / std::cosh(u)).epsilon(1e-14));
  }
  CHECK(hyperbolic_tangent_over_argument(0.0) == 1);
}
// SPDX-License-Identifier: Apache-2.0
