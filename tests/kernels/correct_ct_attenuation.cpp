// CT numbers to attenuation: the tables' own points, water, air and bone, and the two lines between them.
#include <cmath>
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

TEST_CASE("the law by tube voltage has the points of its table, and water whatever the tube") {
  struct Row {
    double kvp;
    float break_hounsfield;
    double at_break, at_1000, at_2000;  // worked out by hand from the published a, b and break
  };
  const Row rows[] = {{80, 50, 0.100800, 0.1354, 0.1718},  {100, 52, 0.100992, 0.1430, 0.1873},
                      {110, 43, 0.100128, 0.1472, 0.1964}, {120, 47, 0.100512, 0.1491, 0.2001},
                      {130, 37, 0.099552, 0.1526, 0.2077}, {140, 30, 0.098880, 0.1536, 0.2100}};
  for (const Row& row : rows) {
    CAPTURE(row.kvp);
    const auto mu = HounsfieldToMu::of_tube(row.kvp);
    CHECK(mu(0) == approx(0.0960).epsilon(1e-7));
    CHECK(mu.water() == approx(0.0960).epsilon(1e-12));
    CHECK(mu(-1000) == 0);
    CHECK(mu(-3024) == 0);
    CHECK(mu(-500) == approx(0.0480).epsilon(1e-7));
    CHECK(mu(row.break_hounsfield) == approx(row.at_break).epsilon(1e-7));
    CHECK(mu(1000) == approx(row.at_1000).epsilon(1e-7));
    CHECK(mu(2000) == approx(row.at_2000).epsilon(1e-7));
    CHECK(mu.break_hounsfield() == static_cast<double>(row.break_hounsfield));
    // The two lines meet where the table says that they do, as far as its digits go.
    CHECK(std::abs(mu(row.break_hounsfield + 0.01F) - mu(row.break_hounsfield)) < 2.5e-5F);
  }
  CHECK_THROWS_WITH_AS(HounsfieldToMu::of_tube(90),
                       "a tube of 90 kV: the law at 511 keV is known for 80, 100, 110, 120, 130 and 140 kV",
                       std::invalid_argument);
}

TEST_CASE("the law by tube voltage and that of NIST's tables agree on soft tissue, and near enough on bone") {
  const auto tube = HounsfieldToMu::of_tube(120);
  const HounsfieldToMu tables(511, usual_ct_keV);
  CHECK(tables.water() == approx(tube.water()).epsilon(0.0005 / 0.096));
  for (const float ct : {-700.0F, -100.0F, 40.0F}) CHECK(tube(ct) == approx(tables(ct)).epsilon(0.02));
  for (const float ct : {500.0F, 1000.0F, 1500.0F}) CHECK(tube(ct) == approx(tables(ct)).epsilon(0.014));
}

TEST_CASE("photons of the CT's own energy give the CT's attenuation back: one line for all materials") {
  const HounsfieldToMu same(75, 75);
  for (const float ct : {-800.0F, 0.0F, 300.0F, 2000.0F})
    CHECK(same(ct) == approx(water_mu_per_cm(75) * (1 + static_cast<double>(ct) / 1000)).epsilon(1e-6));
}
// SPDX-License-Identifier: Apache-2.0
