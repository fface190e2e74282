// What an attenuation map's file says of its energy, and whom it does not fit.
#include "gadgets/io/nifti/mu_map.hpp"

#include <cmath>
#include <limits>

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

namespace {

// A cylinder of water along z, moved along x, in a map of 25 x 25 x 20 voxels of 8 mm.
Image cylinder_map(float radius_mm, float length_mm, float x_mm = 0) {
  Image mu = Image::zeros(Grid::centred(25, 25, 20, {8, 8, 8}));
  for (int k = 0; k < 20; ++k)
    for (int j = 0; j < 25; ++j)
      for (int i = 0; i < 25; ++i) {
        const Vec3 at = mu.grid.centre(i, j, k);
        if (std::hypot(at.x - x_mm, at.y) < radius_mm && std::abs(at.z) < 0.5F * length_mm)
          mu.voxels[mu.grid.index(i, j, k)] = 0.0096F;
      }
  return mu;
}

}  // namespace

TEST_CASE("a map that cuts the object is warned of, and one that just holds it is not") {
  const auto warned = [](const Image& mu, float reach_mm) {
    return incomplete_mu_map("mu.nii", mu, -reach_mm, reach_mm);
  };
  CHECK(warned(cylinder_map(70, 100), 300).empty());
  CHECK(warned(cylinder_map(100, 100), 300).empty());  // it touches each side
  CHECK(warned(cylinder_map(100, 160), 70).empty());   // goes on where no data are
  CHECK(
      warned(cylinder_map(120, 100), 300) ==
      "mu.nii: matter reaches the map's border at x = -100 mm, x = 100 mm, y = -100 mm, y = 100 mm. If the object goes "
      "on there, what lies beyond attenuates nothing, and activity comes out too low: give a map that holds all of it");
  CHECK(warned(cylinder_map(70, 100, 60), 300).find("border at x = 100 mm. If") != std::string::npos);
  CHECK(warned(cylinder_map(70, 160), 81).find("border at z = -80 mm, z = 80 mm. If") != std::string::npos);
  CHECK(warned(Image::zeros(Grid::centred(1, 1, 1, {400, 400, 400})), 70).empty());
  CHECK(incomplete_mu_map("mu.nii", cylinder_map(70, 100), 80, 300).find("attenuates next to nothing: move it") !=
        std::string::npos);
  // Where the object moved, nobody knows what data reach.
  constexpr float infinite = std::numeric_limits<float>::infinity();
  CHECK(incomplete_mu_map("mu.nii", cylinder_map(70, 160), infinite, -infinite).empty());
}
// SPDX-License-Identifier: Apache-2.0
