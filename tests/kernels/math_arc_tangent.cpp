// Angles without a library.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "kernels/math/arc_tangent.hpp"

using namespace tofstream;

TEST_CASE("an angle is the library's within 4e-7, all around and at its ends") {
  double worst = 0;
  constexpr int steps = 1'000'003;
  for (int n = 0; n < steps; ++n) {
    const double angle = std::numbers::pi * (2.0 * n / steps - 1), length = n % 2 ? 700 : 1e-3;
    const auto y = static_cast<float>(length * std::sin(angle)), x = static_cast<float>(length * std::cos(angle));
    const double error =
        static_cast<double>(arc_tangent(y, x)) - std::atan2(static_cast<double>(y), static_cast<double>(x));
    worst = std::max(worst, std::abs(error));
  }
  CHECK(worst < 4e-7);
  CHECK(arc_tangent(0, 1) == 0);
  CHECK(arc_tangent(0, -1) == std::numbers::pi_v<float>);
  CHECK(arc_tangent(2, 0) == 0.5f * std::numbers::pi_v<float>);
  CHECK(arc_tangent(-2, 0) == -0.5f * std::numbers::pi_v<float>);
  CHECK(arc_tangent(3, 3) == 0.25f * std::numbers::pi_v<float>);
  CHECK(arc_tangent(3, -3) == 0.75f * std::numbers::pi_v<float>);
  CHECK(arc_tangent(0, 0) == 0);
}
// SPDX-License-Identifier: Apache-2.0
