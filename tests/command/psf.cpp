// `tofstream psf` as a user runs it: from an image and from a scan to a table that the gadget `psf` reads.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/psf/psf_table.hpp"
#include "kernels/psf/psf_operator.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

// Points of 5 x 5 x 6 mm FWHM at the axis and of 8 x 5.5 x 7 mm at 100 and 200 mm, of voxels that are fine beside them.
Image image_of_points() {
  Grid grid = Grid::centred(124, 24, 24, {2, 2, 2});
  grid.origin_mm.x = -23;
  Image image = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    const Vec3 at = grid.centre(static_cast<int>(v % 124), static_cast<int>(v / 124 % 24), static_cast<int>(v / 2976));
    for (const float r : {0.0f, 100.0f, 200.0f}) {
      const float fwhm[3] = {r > 0 ? 8.0f : 5.0f, r > 0 ? 5.5f : 5.0f, r > 0 ? 7.0f : 6.0f};
      float distance = 0;
      for (int axis = 0; axis < 3; ++axis) {
        const float variance = std::pow(fwhm[axis] / 2.3548f, 2.0f) + 4.0f / 12;
        distance += std::pow(at[axis] - (axis == 0 ? r : 0), 2.0f) / variance;
      }
      image.voxels[v] += 1000 * std::exp(-0.5f * distance);
    }
  }
  return image;
}

const char* wide_ring = R"(name: wide_ring
inner_radius_mm: 400
fov_radius_mm: 300
modules: {transaxial: 52, axial: 3, pitch_axial_mm: 48.5}
crystals: {transaxial: 4, axial: 4, size_mm: [11.8, 11.8], pitch_mm: [12, 12],
  layers: [{depth_mm: 20, attenuation_per_cm: 0.83}]}
coincidence: {window_ns: 4, min_sector_difference: 10}
tof: {fwhm_ps: 300, bins: 61, bin_ps: 75}
energy: {low_keV: 435, high_keV: 650, resolution: 0.12}
)";

/// Points at 0, 100 and 200 mm, each in a warm ball, without which EM makes them too sharp. None lies on the axis itself,
/// where lines between crystals opposite each other all meet.
std::string points_in_warm_balls() {
  std::string phantom = "name: points\nsolids:\n";
  for (const int r : {0, 100, 200})
    phantom += fmt::format(
        "  - {{name: ball {0}, shape: sphere, diameter_mm: 70, centre_mm: [{0}, 1, 4], activity_Bq_mL: 1000}}\n"
        "  - {{name: point {0}, shape: sphere, diameter_mm: 2, centre_mm: [{0}, 1, 4], activity_Bq_mL: 1.0e+8}}\n",
        r);
  return phantom;
}

Grid grid_of_scan() {
  Grid grid = Grid::centred(170, 35, 35, {2, 2, 2});
  grid.origin_mm.x += 100;
  return grid;
}

/// A scan of the points, reconstructed on that grid, and psf_SEED.csv of it: the sources by radius.
std::vector<nlohmann::json> sources_of_scan(const TemporaryFolder& folder, int seed) {
  const std::string scanner = folder / "ring.yaml", phantom = folder / "points.yaml", scan = folder / "scan.petsird";
  std::ofstream(scanner) << wide_ring;
  std::ofstream(phantom) << points_in_warm_balls();
  const auto simulated = run_command(
      fmt::format("simulate --quiet --scanner {} --phantom {} --events 300000 --no-attenuation --seed {} -o {}",
                  scanner, phantom, seed, scan));
  REQUIRE_MESSAGE(simulated.code == 0, simulated.err);
  const auto made =
      run_command("psf " + scan +
                  " --backend cpu --json --set 'image={size: [170, 35, 35], voxel_mm: 2, centre_mm: [100, 0, 0]}'"
                  " --set subsets.subsets=4 --set subsets.iterations=4 --set projected.sensitivity.exact_pairs=0"
                  " --set projected.sensitivity.sampled_pairs=4000000 --set projected.sensitivity.cache=false"
                  " --threshold 0.5 --window-mm 16 -o " +
                  (folder / fmt::format("psf_{}.csv", seed)).string());
  REQUIRE_MESSAGE(made.code == 0, made.err);
  auto sources = made.json()["sources"].get<std::vector<nlohmann::json>>();
  std::ranges::sort(sources, {}, [](const nlohmann::json& source) { return source["r_mm"].get<double>(); });
  return sources;
}

/// FWHM of the second moments along x, y and z of what the operator makes of a voxel.
Vec3d widths_of_point(const ImageOperator& blur, int i, int j, int k) {
  const Grid& grid = blur.grid();
  Image point = Image::zeros(grid);
  point.voxels[grid.index(i, j, k)] = 1;
  const Image blurred = blur.forward(point);
  const Vec3 at = grid.centre(i, j, k);
  double sum = 0;
  Vec3d moments;
  for (int c = 0; c < grid.size[2]; ++c)
    for (int b = 0; b < grid.size[1]; ++b)
      for (int a = 0; a < grid.size[0]; ++a) {
        const double value = static_cast<double>(blurred.voxels[grid.index(a, b, c)]);
        const Vec3d d = (grid.centre(a, b, c) - at).as<double>();
        sum += value;
        moments = moments + value * Vec3d{d.x * d.x, d.y * d.y, d.z * d.z};
      }
  const auto fwhm = [&](double moment) { return 2.3548200450309493 * std::sqrt(moment / sum); };
  return {fwhm(moments.x), fwhm(moments.y), fwhm(moments.z)};
}

}  // namespace

TEST_CASE("tofstream psf makes a table of an image of points, and a run models it") {
  const TemporaryFolder folder;
  const std::string points = folder / "points.nii.gz", table = folder / "made/psf.csv";
  write_nifti(points, image_of_points());
  const auto made = run_command("psf " + points + " --window-mm 18 --json -o " + table);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.json()["sources"].size() == 3);
  const ResolutionTable read = formats::read_psf_table(table);
  REQUIRE(read.z_mm().size() == 1);
  for (const auto& [r, radial, tangential, axial] :
       {std::array{0.0, 5.0, 5.0, 6.0}, {100.0, 8.0, 5.5, 7.0}, {200.0, 8.0, 5.5, 7.0}}) {
    CHECK(read.at(0, r).radial_mm == approx(radial).epsilon(0.02));
    CHECK(read.at(0, r).tangential_mm == approx(tangential).epsilon(0.02));
    CHECK(read.at(0, r).axial_mm == approx(axial).epsilon(0.02));
  }
  const auto words = run_command("psf " + points + " --window-mm 18 -o " + table);
  CHECK(words.code == 0);
  CHECK(words.out.find("% of the peak") != std::string::npos);

  const auto refused = [&](const std::string& arguments, const std::string& said) {
    const auto result = run_command("psf " + arguments);
    CHECK(result.code == 2);
    CHECK_MESSAGE(result.err.find(said) != std::string::npos, result.err);
    CHECK(std::ranges::count(result.err, '\n') == 1);
  };
  refused(points + " -o psf.nii", "name a file that ends in .csv");
  refused(points + ".none -o " + table, "points.nii.gz.none");
  refused(points + " --window-mm 40 -o " + table, "cut by the image's border");
  refused(points + " --threshold 2 -o " + table, "--threshold");

  const std::string scan = folder / "scan.petsird", bad = folder / "bad.csv";
  REQUIRE(
      run_command(
          "simulate --quiet --scanner demo_ring --phantom uniform_cylinder --events 20000 --no-attenuation -o " + scan)
          .code == 0);
  const std::string run = "run measured_psf_osem --quiet --json --overwrite --backend cpu --input " + scan +
                          " --set image.size=[30,30,12] --set image.voxel_mm=[8,8,8] --set subsets.subsets=2"
                          " --set projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=50000"
                          " --set projected.sensitivity.cache=false --out " +
                          (folder / "out").string();
  const auto modelled = run_command(run + " --set blurred.table=" + table);
  REQUIRE_MESSAGE(modelled.code == 0, modelled.err);
  CHECK(modelled.json()["gadgets"]["blurred"]["figures"]["weights_mib"].get<double>() > 0);
  std::ofstream(bad) << "r_mm,z_mm,radial_mm,tangential_mm\n0,0,4,4\n";
  const auto lacks = run_command(run + " --set blurred.table=" + bad);
  CHECK(lacks.code == 2);
  CHECK_MESSAGE(lacks.err.find("bad.csv: there is no column axial_mm") != std::string::npos, lacks.err);
  std::ofstream(bad) << "r_mm,z_mm,radial_mm,tangential_mm,axial_mm\n0,0,4,wide,4\n";
  CHECK(run_command(run + " --set blurred.table=" + bad).err.find("line 2: tangential_mm is 'wide'") !=
        std::string::npos);
}

TEST_CASE("tofstream psf reconstructs a recording of a point first") {
  const TemporaryFolder folder;
  const std::string phantom = folder / "point.yaml", scan = folder / "scan.petsird", table = folder / "psf.csv";
  std::ofstream(phantom) << "name: point\nsolids:\n  - {name: point, shape: ellipsoid, centre_mm: [30, 0, 0],"
                            " half_axes_mm: [1, 1, 1], activity_Bq_mL: 1000000}\n";
  const auto simulated = run_command("simulate --quiet --scanner demo_ring --phantom " + phantom +
                                     " --events 60000 --no-attenuation -o " + scan);
  REQUIRE_MESSAGE(simulated.code == 0, simulated.err);
  const auto made = run_command(
      "psf " + scan +
      " --backend cpu --json --set 'image={size: [40, 40, 20], voxel_mm: 2, centre_mm: [30, 0, 0]}'"
      " --set subsets.subsets=2 --set subsets.iterations=2 --set projected.sensitivity.exact_pairs=0"
      " --set projected.sensitivity.sampled_pairs=200000 --set projected.sensitivity.cache=false --window-mm 16 -o " +
      table);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto source = made.json()["sources"][0];
  CHECK(source["r_mm"].get<double>() == approx(30).epsilon(0.03));
  for (const char* width : {"radial_mm", "tangential_mm", "axial_mm"}) {
    CHECK(source[width].get<double>() > 2);
    CHECK(source[width].get<double>() < 12);
  }
  CHECK(std::filesystem::exists(folder / "psf_1.nii.gz"));
}

TEST_CASE("psf by the table of simulated points at 0, 100 and 200 mm has the widths of these in another scan") {
  const TemporaryFolder folder;
  sources_of_scan(folder, 7);
  const auto sources = sources_of_scan(folder, 8);
  REQUIRE(sources.size() == 3);
  const Grid grid = grid_of_scan();
  const PsfOperator blur(grid, formats::read_psf_table(folder / "psf_7.csv"), Backend::cpu);
  for (int s = 0; s < 3; ++s) {
    CAPTURE(s);
    const auto number = [&](const char* key) { return sources[static_cast<std::size_t>(s)][key].get<double>(); };
    CHECK(std::abs(number("r_mm") - 100 * s) < 2);
    const int i = 35 + 50 * s;
    CHECK(grid.centre(i, 17, 19).x == 1 + 100.0f * static_cast<float>(s));
    const Vec3d widths = widths_of_point(blur, i, 17, 19);
    CHECK(widths.x == approx(number("radial_mm")).epsilon(0.05));
    CHECK(widths.y == approx(number("tangential_mm")).epsilon(0.05));
    CHECK(widths.z == approx(number("axial_mm")).epsilon(0.05));
  }
}
// SPDX-License-Identifier: Apache-2.0
