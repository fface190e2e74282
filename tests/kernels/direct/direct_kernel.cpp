// The kernel's model: its radial factor by radius and side of the axis, and what is refused.
#include "kernels/direct/direct_kernel.hpp"

#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("The radial width of DIRECT is linear between radii and constant beyond them") {
  DirectKernel kernel = plain_kernel(20);
  kernel.radial = {{10, 5}, {50, 9}};
  const RadialProfiles profiles(kernel, 80);
  CHECK(profiles.count() == 81);  // steps of 2 mm, both sides
  const auto fwhm = [&](double s_mm) { return profiles[profiles.index(s_mm)][0].sigma_mm * fwhm_per_sigma; };
  CHECK(fwhm(0) == approx(5));
  CHECK(fwhm(30) == approx(7));
  CHECK(fwhm(-30.9) == approx(7));  // the identifier's
  CHECK(fwhm(48) == approx(8.8));
  CHECK(fwhm(-500) == approx(9));
}

TEST_CASE("Kernels of DIRECT that are alike share a profile") {
  for (const NamedKernel& one : direct_kernels(20)) {
    CAPTURE(one.name);
    const RadialProfiles profiles(one.kernel, 100);
    CHECK(profiles.count() == (one.kernel.is_invariant() ? (one.kernel.is_symmetric() ? 1 : 3) : 101));
  }
}

TEST_CASE("An asymmetric radial factor is shifted towards the axis on both sides, and has unit area") {
  DirectKernel kernel = plain_kernel(20);
  kernel.parts = {{3, 1, 0}, {1, 2, 1}};
  const RadialProfiles profiles(kernel, 100);
  const double sigma = 6.5 / fwhm_per_sigma;
  const auto mean = [&](double s_mm) {
    double sum = 0, moment = 0;
    for (double x = -60; x <= 60; x += 0.25) {
      const double density = radial_density(profiles[profiles.index(s_mm)], x);
      sum += 0.25 * density;
      moment += 0.25 * density * x;
    }
    CHECK(sum == approx(1).epsilon(1e-9));
    return moment;
  };
  CHECK(mean(40) == approx(-sigma / 4));
  CHECK(mean(-40) == approx(sigma / 4));
  CHECK(std::abs(mean(0.5)) < 1e-12);
}

TEST_CASE("Kernels of DIRECT that cannot be are refused, each in one line") {
  const auto refused = [](const auto& change, const char* message) {
    DirectKernel kernel = plain_kernel(20);
    change(kernel);
    CHECK_THROWS_WITH_AS(validate(kernel), message, std::invalid_argument);
  };
  CHECK_NOTHROW(validate(plain_kernel(20)));
  refused([](DirectKernel& k) { k.tof_sigma_mm = 0; }, "kernel.tof_sigma_mm must be positive, not 0");
  refused([](DirectKernel& k) { k.axial_fwhm_mm = INFINITY; }, "kernel.axial_fwhm_mm must be positive, not inf");
  refused([](DirectKernel& k) { k.cut_sigma = 0.5f; }, "kernel.cut_sigma must be in [1, 8], not 0.5");
  refused([](DirectKernel& k) { k.radial_step_mm = -1; }, "kernel.radial_step_mm must be positive, not -1");
  refused([](DirectKernel& k) { k.radial.clear(); }, "kernel.radial needs a width: a FWHM in mm, or some by radius");
  refused(
      [](DirectKernel& k) {
        k.radial = {{0, 5}, {0, 6}};
      },
      "kernel.radial: a radius must be at least 0 and above the one before it (mm), not 0");
  refused([](DirectKernel& k) { k.radial = {{0, -5}}; }, "kernel.radial: a FWHM must be positive (mm), not -5");
  refused([](DirectKernel& k) { k.parts.clear(); }, "kernel.parts needs at least one Gaussian");
  refused([](DirectKernel& k) { k.parts = {{-1, 1, 0}}; }, "kernel.parts: a weight must be at least 0, not -1");
  refused([](DirectKernel& k) { k.parts = {{0, 1, 0}}; }, "kernel.parts: the sum of weights must be positive, not 0");
}
// SPDX-License-Identifier: Apache-2.0
