// The radial responses of the TOR projector: unit integral, closed forms, samples, refusals.
#include <numbers>

#include "kernels/ring/tor/tor.hpp"
#include "tests/support/approx.hpp"

using tofstream::BlobPolynomial, tofstream::RadialResponse;

namespace {

/// Integral of f over the transverse plane by the midpoint rule in r.
double plane_integral(const RadialResponse& f) {
  const int steps = 200000;
  const double step = f.tube_radius_mm() / static_cast<double>(steps);
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double r = (i + 0.5) * step;
    sum += 2 * std::numbers::pi * r * f(r) * step;
  }
  return sum;
}

}  // namespace

TEST_CASE("every radial response has unit integral over the plane and is zero outside the tube") {
  for (const float radius : {0.7f, 6.0f, 30.0f}) {
    for (const auto& f : {RadialResponse::gaussian(6, radius), RadialResponse::gaussian(0.5f * radius, radius),
                          RadialResponse::kaiser_bessel(10.4f, radius), RadialResponse::kaiser_bessel(0.01f, radius),
                          RadialResponse::kaiser_bessel(400, radius), RadialResponse::table({3, 2, 2.5f, 0}, radius),
                          RadialResponse::table({1, 1}, radius)}) {
      CHECK(plane_integral(f) == tofstream::approx(1).epsilon(1e-8));
      CHECK(f(radius * 1.0001) == 0);
      REQUIRE(f.values().size() == RadialResponse::samples);
      CHECK(f.peak() == tofstream::approx(f(0)).epsilon(1e-6));
      CHECK(f.values()[1000] == tofstream::approx(f(radius * 1000 / (RadialResponse::samples - 1.0))).epsilon(1e-5));
    }
  }
}

TEST_CASE("the Gaussian falls to half at half its FWHM") {
  const auto f = RadialResponse::gaussian(4, 9);
  CHECK(f(2) / f(0) == tofstream::approx(0.5).epsilon(1e-12));
  CHECK(f.is_gaussian());
  CHECK(f.gaussian_sigma_mm() == tofstream::approx(4 / 2.3548200450309493));
  // 2 pi sigma^2 times the mass inside 9 mm: 1 - 2^-(9/2)^2.
  const double sigma = f.gaussian_sigma_mm();
  CHECK(f(0) == tofstream::approx(1 / (2 * std::numbers::pi * sigma * sigma * (1 - std::exp2(-20.25)))));
}

TEST_CASE("the blob's response is the line integral of the blob") {
  const double alpha = 8.3, a = 5;
  const auto f = RadialResponse::kaiser_bessel(static_cast<float>(alpha), static_cast<float>(a));
  // b(r) ~ w^2 I_2(alpha w), integrated along a chord at distance s; normalised by the ratio at 0.
  auto chord = [&](double s) {
    const int steps = 20000;
    const double half = std::sqrt(a * a - s * s);
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
      const double l = (i + 0.5) / steps * half;
      const double w = std::sqrt(std::max(0.0, 1 - (s * s + l * l) / (a * a)));
      sum += w * w * std::cyl_bessel_i(2.0, alpha * w) * half / steps;
    }
    return sum;
  };
  for (const double s : {0.5, 1.7, 3.0, 4.6})
    CHECK(f(s) / f(0) == tofstream::approx(chord(s) / chord(0)).epsilon(1e-6));
}

TEST_CASE("the blob's polynomial follows its response, also at the rim") {
  for (const float alpha : {0.1f, 2.0f, 8.3689f, 11.0f}) {
    const double a = 5;
    const auto f = RadialResponse::kaiser_bessel(alpha, 5);
    REQUIRE(f.blob().has_value());
    double error = 0;
    for (int i = 0; i <= 1000; ++i) {
      const double r = a * i / 1000, w2 = 1 - r * r / (a * a);
      double sum = 0;
      for (int k = BlobPolynomial::terms - 1; k >= 0; --k)
        sum = sum * (w2 - 0.5) + static_cast<double>(f.blob()->coefficient[k]);
      error = std::max(error, std::abs(w2 * w2 * std::sqrt(w2) * sum - f(r)) / f(0));
    }
    CHECK(error < 3e-7);
  }
  CHECK(!RadialResponse::kaiser_bessel(12, 5).blob());
  CHECK(!RadialResponse::gaussian(4, 9).blob());
}

TEST_CASE("a table is interpolated linearly between equal steps") {
  const auto f = RadialResponse::table({4, 2, 1}, 6);
  CHECK(f(1.5) / f(0) == tofstream::approx(0.75));
  CHECK(f(4.5) / f(0) == tofstream::approx(0.375));
  CHECK(f(6) / f(0) == tofstream::approx(0.25));
}

TEST_CASE("a radial response refuses what it cannot be") {
  CHECK_THROWS_AS(RadialResponse::gaussian(0, 6), std::invalid_argument);
  CHECK_THROWS_AS(RadialResponse::gaussian(NAN, 6), std::invalid_argument);
  CHECK_THROWS_AS(RadialResponse::gaussian(6, -1), std::invalid_argument);
  CHECK_THROWS_AS(RadialResponse::kaiser_bessel(1e9f, 6), std::invalid_argument);
  CHECK_THROWS_AS(RadialResponse::kaiser_bessel(-1, 6), std::invalid_argument);
  CHECK_THROWS_AS(RadialResponse::table({1}, 6), std::invalid_argument);
  CHECK_THROWS_AS(RadialResponse::table({0, 0}, 6), std::invalid_argument);
  CHECK_THROWS_AS(RadialResponse::table({1, -1}, 6), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
