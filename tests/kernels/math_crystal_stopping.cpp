// How much better crystals stop slower photons, beside tables.
#include <initializer_list>

#include "kernels/math/crystal_stopping.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("heavy elements attenuate slower photons as NIST's tables have it") {
  // mu/rho in cm^2/g at 400 and 500 keV (NIST, X-Ray Mass Attenuation Coefficients), and the photoelectric share at 511 keV
  // that is left of the latter without Klein and Nishina's part.
  struct Element {
    double at_400, at_500, photoelectric_share;
  };
  for (const Element& it : {Element{0.1925, 0.1378, 0.481}, Element{0.2323, 0.1614, 0.562}}) {  // tungsten, lead
    CAPTURE(it.photoelectric_share);
    const double ratio = crystal_attenuation_ratio(400.0, it.photoelectric_share) /
                         crystal_attenuation_ratio(500.0, it.photoelectric_share);
    CHECK(ratio == approx(it.at_400 / it.at_500).epsilon(0.01));
  }
}

TEST_CASE("a crystal stops more of slower photons, unless it stops all") {
  CHECK(crystal_attenuation_ratio(electron_keV) == approx(1).epsilon(1e-12));
  for (const float keV : {100.0f, 250.0f, 435.0f, 511.0f})
    CHECK(crystal_attenuation_ratio(keV) == approx(crystal_attenuation_ratio(static_cast<double>(keV))).epsilon(1e-5));
  CHECK(stopped_ratio(electron_keV, 1.74) == approx(1).epsilon(1e-12));
  CHECK(stopped_ratio(435, 1.74) == approx(1.064).epsilon(0.001));  // 20 mm of LSO
  CHECK(stopped_ratio(435, 1000) == 1);
  CHECK(stopped_ratio(435, 1e-6) == approx(crystal_attenuation_ratio(435.0)).epsilon(1e-6));  // a thin one
}
// SPDX-License-Identifier: Apache-2.0
