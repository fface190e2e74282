// CT numbers to attenuation: the tables' own points, water, air and bone, and the two lines between them.
#include <stdexcept>

#include <doctest/doctest.h>

#include "kernels/correct/ct_attenuation.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("attenuation is that of the tables at their energies, and between them that of XCOM") {
  CHECK(water_mu_per_cm(100) == approx(0.1707));
  CHECK(water_mu_per_cm(1000) == approx(0.07072));
  CHECK(cortical_bone_mu_per_cm(150) == approx(1.92 * 0.1480));
  CHECK(water_mu_per_cm(140.511) == approx(0.1538).epsilon(0.005));  // 0.154 in the literature of SPECT
  CHECK(water_mu_per_cm(511) == approx(0.0960).epsilon(0.003));
  CHECK_THROWS_WITH_AS(water_mu_per_cm(29), "photons of 29 keV: attenuation is known from 30 to 1000 keV",
                       std::invalid_argument);
  CHECK_THROWS_AS(cortical_bone_mu_per_cm(1001), std::invalid_argument);
}

TEST_CASE("water, air and cortical bone have their own attenuation, and mixtures lie on straight lines") {
  const HounsfieldToMu mu(140.511, 75);
  CHECK(mu(0) == approx(water_mu_per_cm(140.511)));
  CHECK(mu(-1000) == 0);
  CHECK(mu(-3024) == 0);  // beyond a CT's circle
  CHECK(mu(-400) == approx(0.6 * water_mu_per_cm(140.511)));
  CHECK(mu.bone_hounsfield() == approx(1450).epsilon(0.01));
  const auto bone = static_cast<float>(mu.bone_hounsfield());
  CHECK(mu(bone) == approx(cortical_bone_mu_per_cm(140.511)).epsilon(1e-6));
  CHECK(mu(0.5F * bone) == approx(0.5 * (water_mu_per_cm(140.511) + cortical_bone_mu_per_cm(140.511))));
}

TEST_CASE("photons of the CT's own energy give the CT's attenuation back: one line for all materials") {
  const HounsfieldToMu same(75, 75);
  for (const float ct : {-800.0F, 0.0F, 300.0F, 2000.0F})
    CHECK(same(ct) == approx(water_mu_per_cm(75) * (1 + static_cast<double>(ct) / 1000)).epsilon(1e-6));
}
// SPDX-License-Identifier: Apache-2.0
