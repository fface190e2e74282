// What a reconstruction of views warns of, and how often.
#include "gadgets/io/nifti/nifti.hpp"
#include "tests/gadgets/spect/spect_support.hpp"

namespace tofstream {
namespace {

using namespace spect_test;

/// Water of 100 mm radius about the axis, 1/cm.
std::string map_of_water(const std::filesystem::path& folder) {
  Image mu = Image::zeros(Grid::centred(60, 60, 10, {4, 4, 20}));
  for (int k = 0; k < 10; ++k)
    for (int j = 0; j < 60; ++j)
      for (int i = 0; i < 60; ++i) {
        const Vec3 at = mu.grid.centre(i, j, k);
        if (std::hypot(at.x, at.y) < 100) mu.voxels[mu.grid.index(i, j, k)] = 0.154f;
      }
  const auto file = folder / "mu.nii.gz";
  write_nifti(file, mu);
  return file.string();
}

std::string reconstruction_with(const std::filesystem::path& folder, const std::string& radius) {
  const auto phantom = folder / "ball.yaml";
  std::ofstream(phantom) << "name: ball\nsolids:\n  - {shape: sphere, diameter_mm: 60, activity_Bq_mL: 100000}\n";
  std::string camera = small_camera(folder);
  std::string text;
  std::getline(std::ifstream(camera), text, '\0');
  text.replace(text.find("radius_mm: 150"), 14, radius);
  std::ofstream(camera) << text;
  return reconstruction(camera, fmt::format("use: spect_simulator, phantom: {}, events: 20000", phantom.string()),
                        "use: view_subsets, subsets: 2, iterations: 2", ", mu_map: " + map_of_water(folder));
}

std::string said_of_radius(const RunReport& report) {
  const auto projected = std::ranges::find(report.gadgets, "projected", &GadgetReport::name);
  const auto line = projected->figures.find("radius_inside_body");
  return line == projected->figures.end() ? "" : std::get<std::string>(line->second);
}

}  // namespace

TEST_CASE("a radius inside the body of the mu map is warned of, with the view and what to do") {
  const TemporaryFolder folder, other;
  const RunReport inside = run_it(reconstruction_with(folder.path(), "radius_mm: 80"), folder.path());
  REQUIRE(inside.exit_code == 0);
  const std::string line = said_of_radius(inside);
  CHECK_MESSAGE(line.starts_with("the collimator's face lies inside the body of the mu map in 24 of 24 views: deepest"),
                line);
  CHECK_MESSAGE(
      line.find("whose radius is 80 mm where the body reaches 100 mm towards the camera") != std::string::npos, line);
  CHECK(line.find("radius_mm of projections_source") != std::string::npos);
  const RunReport outside = run_it(reconstruction_with(folder.path(), "radius_mm: 120"), other.path());
  REQUIRE(outside.exit_code == 0);
  CHECK(said_of_radius(outside).empty());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
