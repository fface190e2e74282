// What an attenuation map's file says of its energy, and whom it does not fit.
#include "gadgets/io/nifti/mu_map.hpp"

#include "core/base/private_folder.hpp"
#include "gadgets/io/nifti/nifti.hpp"

using namespace tofstream;

TEST_CASE("a map's file states its energy in its description, and what is no such statement is none") {
  const PrivateTemporaryFolder folder;
  const auto stated = [&](const std::string& description) {
    write_nifti(folder.path() / "mu.nii", Image::zeros(Grid::centred(2, 2, 2, {4, 4, 4})),
                {.description = description});
    return mu_map_energy_keV(folder.path() / "mu.nii");
  };
  CHECK(mu_map_description(140.5) == "attenuation, 1/cm at 140.5 keV");
  CHECK(stated(mu_map_description(140.5)) == 140.5);
  CHECK(stated(mu_map_description({})) == std::nullopt);
  CHECK(stated("attenuation at 208 keV of a patient") == 208);
  for (const char* other :
       {"", "at keV", " at  keV", "keV at 12", "water at -3 keV", "water at nan keV", " at 1 2 keV"})
    CHECK(stated(other) == std::nullopt);
}

TEST_CASE("a map of another energy is warned of beyond 5 %, and one of an unknown energy is not") {
  CHECK(other_mu_energy("mu.nii", 140.5, 140.5).empty());
  CHECK(other_mu_energy("mu.nii", 147, 140.5).empty());
  CHECK(other_mu_energy("mu.nii", {}, 140.5).empty());
  CHECK(other_mu_energy("mu.nii", 511, 0).empty());
  CHECK(
      other_mu_energy("mu.nii", 511, 140.5) ==
      "mu.nii: its attenuation is that of photons of 511 keV, and those that are detected have 140.5 keV: activity is "
      "wrong by what the two differ");
}
// SPDX-License-Identifier: Apache-2.0
