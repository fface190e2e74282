// Isotopes by name: each belongs to PET or to SPECT, and never serves the other.
#include <doctest/doctest.h>

#include "kernels/correct/isotopes.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("isotopes have their half-lives, and an unknown one is told which are known") {
  CHECK(half_life_s("F-18", Emission::positrons) == approx(6584.04));
  CHECK(half_life_s("O-15", Emission::positrons) == approx(122.266));
  CHECK(half_life_s("Rb-82", Emission::positrons) == approx(75.45));
  CHECK(half_life_s("Tc-99m", Emission::single_photons) == approx(21623.76));
  CHECK(half_life_s("Lu-177", Emission::single_photons) == approx(6.6443 * 86400));
  for (const Emission emission : {Emission::positrons, Emission::single_photons})
    for (const std::string& name : known_isotopes(emission)) CHECK(half_life_s(name, emission) > 60);
  CHECK_THROWS_WITH(half_life_s("F18", Emission::positrons),
                    "the half-life of 'F18' is not known (known: C-11, N-13, O-15, F-18, Cu-64, Ga-68, Rb-82, "
                    "Zr-89): give "
                    "half_life_s");
  CHECK_THROWS_WITH(half_life_s("Tc99m", Emission::single_photons), doctest::Contains("Tc-99m, I-123, I-131, In-111"));
}

TEST_CASE("an isotope of SPECT is refused for PET, and one of PET for SPECT") {
  CHECK_THROWS_WITH(
      half_life_s("Tc-99m", Emission::positrons),
      doctest::Contains("Tc-99m is imaged by its single photons (SPECT), and these data are of positrons"));
  CHECK_THROWS_WITH(half_life_s("F-18", Emission::single_photons),
                    doctest::Contains("F-18 is imaged by its positrons (PET)"));
  for (const std::string& name : known_isotopes(Emission::single_photons))
    CHECK_THROWS_AS(half_life_s(name, Emission::positrons), std::invalid_argument);
}

TEST_CASE("isotopes have the photopeaks that cameras are set to") {
  CHECK(photopeaks_keV("Tc-99m") == std::vector{140.511});
  CHECK(photopeaks_keV("In-111") == std::vector{245.35, 171.28});
  CHECK(photopeaks_keV("Ga-68") == std::vector{511.0});
  CHECK_THROWS_WITH(photopeaks_keV("Tc-99"), doctest::Contains("the photons of 'Tc-99' are not known (known: C-11"));
}
// SPDX-License-Identifier: Apache-2.0
