// The tube that tor_projector chooses itself: what it reports, and that it makes no overshoot with data without blur.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

constexpr const char* sphere = R"(
name: sphere
description: A sphere of 5 mm radius and eight times the background
solids:
  - {name: body, shape: cylinder, radius_mm: 24, length_mm: 40, activity_Bq_mL: 10000}
  - {name: hot, shape: sphere, centre_mm: [9.3, 0.4, 0.7], diameter_mm: 10, activity_Bq_mL: 80000}
)";

struct Made {
  float highest;  // voxel, Bq/mL
  std::string tube;
};

/// The sphere, seen by crystals of 1.55 mm, in voxels of 4 mm. `tube`: the projector's parameters for it.
Made reconstruct(const std::string& tube, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "sphere.yaml") << sphere;
  const std::string yaml = fmt::format(R"(
scanner: explore_vista
backend: cpu
image: {{size: [16, 16, 12], voxel_mm: 4}}
gadgets:
  photons: {{use: simulator, phantom: "{}", events: 300000, attenuation: false}}
  subsets: {{use: subset_builder, from: photons, subsets: 12, least_events: 1000, iterations: 8}}
  projected: {{use: tor_projector, from: {{events: subsets, image: estimate}}, sensitivity: {{exact_pairs: 0,
    sampled_pairs: 1000000, cache: false}}{}}}
  estimate: {{use: osem_update, from: projected}}
  file: {{use: nifti_writer, from: estimate}}
)",
                                       (folder / "sphere.yaml").string(), tube);
  const RunReport report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / "out"}).run();
  REQUIRE(report.exit_code == 0);
  const Image image = read_nifti(folder / "out" / "image.nii.gz");
  const auto& figures = std::ranges::find(report.gadgets, "projected", &GadgetReport::name)->figures;
  return {std::ranges::max(image.voxels.span()), std::get<std::string>(figures.at("tube"))};
}

}  // namespace

TEST_CASE("the tube comes from the scanner's crystals, is reported, and overshoots less than one three voxels wide") {
  const TemporaryFolder folder;
  const Made chosen = reconstruct("", folder / "chosen");
  CHECK(chosen.tube == "1.41 voxels wide, response of 2.43 mm FWHM, normalised by slices");
  const Made wide = reconstruct(", tube_width_voxels: 3", folder / "wide");
  CHECK(wide.tube == "3 voxels wide, response of 5.16 mm FWHM");
  CHECK(chosen.highest < 115000);  // of 80000, with noise
  CHECK(wide.highest > 180000);
}
// SPDX-License-Identifier: Apache-2.0
