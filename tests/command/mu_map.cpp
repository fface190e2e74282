// `tofstream mu-map` as a user runs it, and who is warned of a map of another energy.
#include "gadgets/io/nifti/mu_map.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// Air with water in its middle, and a voxel of bone; voxels of 2 x 2 x 4 mm.
std::filesystem::path write_ct(const std::filesystem::path& file, float offset = 0) {
  Image ct = Image::filled(Grid::centred(20, 20, 10, {2, 2, 4}), -1000 + offset);
  for (int k = 2; k < 8; ++k)
    for (int j = 4; j < 16; ++j)
      for (int i = 4; i < 16; ++i) ct.voxels[ct.grid.index(i, j, k)] = offset;
  ct.voxels[ct.grid.index(8, 8, 5)] = 1450 + offset;
  write_nifti(file, ct);
  return file;
}

CommandResult mu_map(const std::string& line) {
  return run_line(program().string() + " mu-map " + line);
}

}  // namespace

TEST_CASE("mu-map makes of a CT the map that a projector reads, and the file says for which photons") {
  const TemporaryFolder folder;
  const std::string ct = write_ct(folder / "ct.nii").string(), mu = (folder / "mu.nii.gz").string();
  const CommandResult made = mu_map(fmt::format("{} --isotope Tc-99m -o {}", ct, mu));
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.out.find("at 140.511 keV: water 0.1536 per cm, the largest voxel 0.294") != std::string::npos);
  CHECK(made.out.find("20 x 20 x 10 voxels: x -20.0 to 20.0, y -20.0 to 20.0, z -20.0 to 20.0 mm") !=
        std::string::npos);
  const Image map = read_nifti(mu);
  CHECK(map.voxels[map.grid.index(5, 5, 5)] == approx(0.1536).epsilon(1e-3));
  CHECK(map.voxels[0] == 0);
  CHECK(mu_map_energy_keV(mu) == 140.511);
}

TEST_CASE("mu-map averages over larger voxels, moves the map, and prints JSON") {
  const TemporaryFolder folder;
  const std::string ct = write_ct(folder / "ct.nii").string(), mu = (folder / "mu.nii").string();
  const CommandResult made =
      mu_map(fmt::format("{} --energy-keV 364.5 --voxel-mm 4 --shift-mm 0 0 100 --json -o {}", ct, mu));
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.json()["extents_mm"][2][0] == approx(80));
  CHECK(made.json()["water_per_cm"] == approx(0.110).epsilon(0.01));
  const Grid grid = read_nifti(mu).grid;
  CHECK(grid.size[0] == 10);
  CHECK(grid.size[2] == 10);
  CHECK(grid.voxel_mm.x == 4);
  CHECK(grid.voxel_mm.z == 4);
}

TEST_CASE("mu-map takes the law of the tube's voltage at 511 keV") {
  const TemporaryFolder folder;
  const std::string ct = write_ct(folder / "ct.nii").string(), mu = (folder / "mu.nii").string();
  const CommandResult made = mu_map(fmt::format("{} --isotope F-18 --kvp 120 -o {}", ct, mu));
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.out.find("(the law of a tube of 120 kV)") != std::string::npos);
  const Image map = read_nifti(mu);
  CHECK(map.voxels[map.grid.index(5, 5, 5)] == approx(0.0960).epsilon(1e-6));
  CHECK(map.voxels[map.grid.index(8, 8, 5)] == approx(0.17205).epsilon(1e-6));  // 5.10e-5 x 2450 + 0.0471
  CHECK(mu_map(fmt::format("{} --isotope F-18 --kvp 80 --json -o {}", ct, mu)).json()["kvp"] == 80);
  const auto without = mu_map(fmt::format("{} --isotope F-18 --json -o {}", ct, mu)).json();
  CHECK(without["ct_keV"] == 75);
  CHECK(without["water_per_cm"] == approx(0.0960).epsilon(0.0005 / 0.096));
  CHECK_FALSE(without.contains("kvp"));
}

TEST_CASE("mu-map refuses what it cannot know, in one line") {
  const TemporaryFolder folder;
  const std::string ct = write_ct(folder / "ct.nii").string(), out = " -o " + (folder / "mu.nii").string();
  const auto refused = [&](const std::string& line, const std::string& why) {
    const CommandResult result = mu_map(line + out);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(why) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder / "mu.nii"));
  };
  refused(ct, "give --isotope, such as Tc-99m, or --energy-keV");
  refused(ct + " --isotope In-111", "In-111 has photopeaks at 245.35 and 171.28 keV: give that of the camera's window");
  refused(ct + " --isotope Xx-1", "the photons of 'Xx-1' are not known");
  refused(ct + " --isotope Tc-99m --energy-keV 140", "--energy-keV");
  refused(ct + " --energy-keV 10", "--energy-keV");
  refused(ct + " --isotope F-18 --kvp 90", "--kvp: a tube of 90 kV: the law at 511 keV is known for 80, 100,");
  refused(ct + " --isotope Tc-99m --kvp 120", "photons of 511 keV, and these have 140.511 keV: give --ct-keV");
  refused(ct + " --isotope F-18 --kvp 120 --ct-keV 75", "--kvp");
  refused((folder / "none.nii").string() + " --isotope Tc-99m", "none.nii: no such file");
  refused(write_ct(folder / "raw.nii", 1024).string() + " --isotope Tc-99m",
          "its values go from 24 to 2474, and a CT in Hounsfield units has air, near -1000");
  std::filesystem::create_directory(folder / "series");
  refused((folder / "series").string() + " --isotope Tc-99m", "series: ");
}

namespace {

CommandResult reconstruction_with(const std::filesystem::path& folder, const std::string& mu) {
  std::ofstream(folder / "camera.yaml") << "name: small\ncamera:\n  pixels: [16, 8]\n  pixel_mm: 16\n  views: 8\n"
                                           "  rotation_deg: 360\n  seconds: 10\n  radius_mm: 150\n  cps_per_MBq: 100\n"
                                           "  energy_window_keV: [126.5, 154.5]\n"
                                           "  collimator: {slope: 0.02, sigma0_mm: 2}\n";
  std::ofstream(folder / "scan.yaml") << fmt::format(R"(
scanner: {0}/camera.yaml
image: auto
backend: cpu
gadgets:
  photons: {{use: spect_simulator, phantom: {1}, events: 1000}}
  subsets: {{use: view_subsets, from: photons, subsets: 2}}
  projected: {{use: rotation_projector, from: {{views: subsets, image: estimate}}, mu_map: {2}}}
  estimate: {{use: osem_update, from: projected}}
)",
                                                     folder.string(), "uniform_cylinder", mu);
  return run_line(fmt::format("{} run {}/scan.yaml --quiet --overwrite --out {}/out", program().string(),
                              folder.string(), folder.string()));
}

}  // namespace

TEST_CASE("a phantom's map and an attenuation of other photons than the camera's are warned of") {
  const TemporaryFolder folder;
  const std::string pet = (folder / "pet.nii").string(), spect = (folder / "spect.nii").string();
  REQUIRE(run_line(fmt::format("{} phantom uniform_cylinder --mu --voxel-mm 20 -o {}", program().string(), pet)).code ==
          0);
  CHECK(mu_map_energy_keV(pet) == 511);
  const std::string why = ": its attenuation is that of photons of 511 keV, and those that are detected have 140.5 keV";
  const CommandResult wrong = reconstruction_with(folder.path(), pet);
  CHECK_MESSAGE(wrong.code == 0, wrong.err);
  CHECK(wrong.err.find("pet.nii" + why) != std::string::npos);
  CHECK(wrong.err.find("uniform_cylinder" + why) != std::string::npos);

  REQUIRE(run_line(fmt::format("{} phantom jaszczak --mu --voxel-mm 20 -o {}", program().string(), spect)).code == 0);
  CHECK(mu_map_energy_keV(spect) == 140.5);
  const CommandResult right = reconstruction_with(folder.path(), spect);
  CHECK_MESSAGE(right.code == 0, right.err);
  CHECK(right.err.find("spect.nii: its attenuation") == std::string::npos);
}

TEST_CASE("a map that lies beside the image is refused, with what moves it") {
  const TemporaryFolder folder;
  const std::string ct = write_ct(folder / "ct.nii").string(), mu = (folder / "mu.nii").string();
  REQUIRE(mu_map(fmt::format("{} --energy-keV 140.5 --shift-mm 0 0 -700 -o {}", ct, mu)).code == 0);
  const CommandResult result = reconstruction_with(folder.path(), mu);
  CHECK(result.code == 1);
  CAPTURE(result.err);
  CHECK(result.err.find("mu.nii: along z the map goes from -720 to -680 mm and the image from -64 to 64 mm") !=
        std::string::npos);
  CHECK(result.err.find("tofstream mu-map --shift-mm") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
