// `tofstream mu-map` as a user runs it, and who is warned of a map of another energy.
#include "gadgets/io/nifti/mu_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "kernels/types/affine.hpp"
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

namespace {

/// Water with a cavity of lung and a rod of bone, off the axes; edges as wide as a CT draws them. HU.
float smooth_body(Vec3d p) {
  const auto inside = [](double mm) { return 0.5 * (1 + std::erf(mm / 0.9)); };  // FWHM 1.5 mm
  const auto ball = [&](Vec3d centre, double radius) { return inside(radius - norm(p - centre)); };
  const double ellipsoid = inside(26 * (1 - norm(Vec3d{p.x / 32, p.y / 26, p.z / 26})));
  return static_cast<float>(-1000 + 1000 * ellipsoid - 700 * ball({-12, 5, 4}, 8) + 900 * ball({11, -6, -5}, 7));
}

/// Voxels of a grid that `pose` moves into our world.
void write_posed(const std::filesystem::path& file, const Grid& grid, const Affine& pose, float (*value)(Vec3d)) {
  Image image = Image::zeros(grid);
  const Affine world_of_index = pose.after(Affine::of_centres(grid));
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        image.voxels[grid.index(i, j, k)] =
            value(world_of_index({static_cast<double>(i), static_cast<double>(j), static_cast<double>(k)}));
  write_nifti(file, image);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(280);  // srow_x, srow_y, srow_z: RAS
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column) {
      const Vec3d of = column < 3 ? world_of_index.column(column) : world_of_index.shift_mm;
      const auto number = static_cast<float>(row < 2 ? -of[row] : of[row]);
      bytes.write(reinterpret_cast<const char*>(&number), sizeof number);
    }
}

Affine turned_about_two_axes() {
  const double a = 0.2, b = -0.12;
  const Affine about_z{{std::cos(a), -std::sin(a), 0, std::sin(a), std::cos(a), 0, 0, 0, 1}, {}};
  const Affine about_x{{1, 0, 0, 0, std::cos(b), -std::sin(b), 0, std::sin(b), std::cos(b)}, {3, -2, 1}};
  return about_z.after(about_x);
}

/// Root of the summed squared differences over that of the summed squares of `of`, which lies on the same grid.
double relative_difference(const Image& image, const Image& of) {
  for (int axis = 0; axis < 3; ++axis) {
    REQUIRE(image.grid.size[axis] == of.grid.size[axis]);
    REQUIRE(std::abs(image.grid.origin_mm[axis] - of.grid.origin_mm[axis]) < 1e-3F);
  }
  double difference = 0, square = 0;
  for (std::int64_t v = 0; v < image.voxels.size(); ++v) {
    const auto a = static_cast<double>(image.voxels[v]), b = static_cast<double>(of.voxels[v]);
    difference += (a - b) * (a - b);
    square += b * b;
  }
  return std::sqrt(difference / square);
}

/// The grid whose blocks of so many voxels across z, and one along it, are the voxels of `grid`.
Grid of_blocks(Grid grid, int voxels) {
  for (int axis = 0; axis < 2; ++axis) {
    grid.size[axis] *= voxels;
    grid.voxel_mm.set(axis, grid.voxel_mm[axis] / static_cast<float>(voxels));
    grid.origin_mm.set(axis, grid.origin_mm[axis] - 0.5F * static_cast<float>(voxels - 1) * grid.voxel_mm[axis]);
  }
  return grid;
}

}  // namespace

TEST_CASE("a series that is turned gives the map of one that is not") {
  const TemporaryFolder folder;
  write_posed(folder / "turned.nii", Grid::centred(88, 78, 50, {1, 1, 1.5F}), turned_about_two_axes(), smooth_body);
  const auto map_of = [&](const char* ct, const std::string& options) {
    const std::string mu = (folder / "mu.nii").string();
    const CommandResult made =
        mu_map(fmt::format("{} --isotope F-18 --kvp 120 {} -o {}", (folder / ct).string(), options, mu));
    REQUIRE_MESSAGE(made.code == 0, made.err);
    return read_nifti(mu);
  };
  struct Case {
    std::string options;
    int voxels;
    double bound;
  };
  // Interpolation softens edges that are as sharp as the CT's voxels; those that the PET sees it keeps.
  for (const Case& each : {Case{"", 1, 0.03}, {"--smooth-mm 4", 1, 0.005}, {"--voxel-mm 2 --smooth-mm 4", 2, 0.005}}) {
    CAPTURE(each.options);
    const Image turned = map_of("turned.nii", each.options);
    // The same body in a series along the axes, whose voxels become those of the map.
    write_posed(folder / "straight.nii", of_blocks(turned.grid, each.voxels), {}, smooth_body);
    const double difference = relative_difference(turned, map_of("straight.nii", each.options));
    CAPTURE(difference);
    CHECK(difference < each.bound);
  }
}

TEST_CASE("a matrix moves the map as it moves the CT's points") {
  const TemporaryFolder folder;
  const std::string ct = write_ct(folder / "ct.nii").string(), mu = (folder / "mu.nii").string();
  // x goes to y, y to -x, and 10 mm up: a quarter turn, which leaves voxels what they are.
  std::ofstream(folder / "quarter.txt") << "0 -1 0 0\n1 0 0 0\n0 0 1 10\n0 0 0 1\n";
  const CommandResult made = mu_map(
      fmt::format("{} --isotope F-18 --affine {} --shift-mm 0 5 0 -o {}", ct, (folder / "quarter.txt").string(), mu));
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const Image map = read_nifti(mu);
  CHECK(map.grid.size[0] == 20);
  CHECK(map.grid.origin_mm.z == approx(-8.0));  // -18 before
  CHECK(map.grid.origin_mm.y == approx(-14.0));
  // Bone is at voxel (8, 8, 5), x = y = -3 mm: at x = 3, y = -3 + 5.
  const auto bone = std::ranges::max_element(map.voxels.span()) - map.voxels.span().begin();
  CHECK(bone == map.grid.index(11, 8, 5));
}

TEST_CASE("mu-map adds beds and coils, which may lie obliquely and beyond the CT, and draws the sum") {
  const TemporaryFolder folder;
  const std::string ct = write_ct(folder / "ct.nii").string(), mu = (folder / "mu.nii").string();
  const auto plate = [](Vec3d) { return 0.05F; };
  write_posed(folder / "bed.nii", {{20, 2, 5}, {2, 2, 4}, {-19, 19, -8}}, {}, plate);
  write_posed(folder / "coil.nii", Grid::centred(4, 4, 4, {1, 1, 1}), turned_about_two_axes(), plate);
  const CommandResult made = mu_map(
      fmt::format("{} --isotope F-18 --add {} --add {} --smooth-mm 0 --png {} --json -o {}", ct,
                  (folder / "bed.nii").string(), (folder / "coil.nii").string(), (folder / "mu.png").string(), mu));
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.json()["added"].size() == 2);
  CHECK(made.json()["extents_mm"][1][1] == approx(22));
  const Image map = read_nifti(mu);
  CHECK(map.grid.size[1] == 21);
  CHECK(map.voxels[map.grid.index(10, 20, 4)] == approx(0.05));
  CHECK(map.voxels[map.grid.index(10, 20, 1)] == 0);
  CHECK(map.voxels[map.grid.index(5, 5, 5)] > 0.095F);
  CHECK(std::ranges::max(map.voxels.span()) > 0.096F);
  CHECK(std::filesystem::file_size(folder / "mu.png") > 5000);
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
  std::ofstream(folder / "flat.txt") << "1 0 0 0\n0 1 0 0\n1 1 0 0\n0 0 0 1\n";
  refused(ct + " --isotope F-18 --affine " + (folder / "flat.txt").string(), "flat.txt: the matrix is singular");
  const auto added = [&](const std::string& name, const Grid& grid, float value) {
    write_nifti(folder / name, Image::filled(grid, value), {.description = mu_map_description(511)});
    return " --isotope F-18 --add " + (folder / name).string();
  };
  const Grid beside{{4, 4, 4}, {2, 2, 2}, {500, 0, 0}}, within = Grid::centred(4, 4, 4, {2, 2, 2});
  refused(
      ct + added("beside.nii", beside, 0.05F),
      "beside.nii: it lies at x 499.0 to 507.0, y -1.0 to 7.0, z -1.0 to 7.0 mm, and the CT's map at x -20.0 to 20.0");
  refused(ct + added("hu.nii", within, 900), "hu.nii: its largest value is 900");
  refused(ct + added("air.nii", within, -1), "air.nii: attenuation must not be negative");
  added("pet.nii", within, 0.05F);
  refused(ct + " --isotope Tc-99m --add " + (folder / "pet.nii").string(),
          "pet.nii: its attenuation is that of photons of 511 keV, and the map is made for 140.511 keV");
  refused(ct + " --isotope F-18 --add none.nii", "none.nii: no such file");
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
