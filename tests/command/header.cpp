// `tofstream header` as a user runs it: a recording with a normalisation in its header gives the image that the
// normalisation's file gives, in the standard's unit; bad input is refused in one line.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "kernels/analysis/compare.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

struct HeaderFolder {
  TemporaryFolder folder;
  std::string scan = (folder / "scan.petsird").string(), norm = (folder / "norm.yaml").string(),
              made = (folder / "made.petsird").string();

  HeaderFolder() {
    const auto ran = run_command(
        fmt::format("simulate --quiet --phantom uniform_cylinder --no-attenuation --events 60000 -o {}", scan));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
  }
  /// Unequal crystals, 1.5e-3 for Bq/mL.
  void write_norm(std::size_t crystals, const char* unit = "Bq/mL") const {
    NormalisationComponents components{
        .crystal_efficiency = {}, .calibration = 1.5e-3f, .class_factor = {}, .unit = unit};
    std::mt19937 random(3);
    for (std::size_t d = 0; d < crystals; ++d)
      components.crystal_efficiency.push_back(0.6f + 0.4f * static_cast<float>(random()) / 4294967296.0f);
    formats::write_normalisation(norm, components, {});
  }
  Image image(const std::string& input, const std::string& normalisation) const {
    const auto pipeline = folder / "p.yaml";
    std::ofstream(pipeline) << "pipeline: headers\nimage: {size: [28, 28, 12], voxel_mm: [10, 10, 10]}\nbackend: cpu\n"
                               "gadgets:\n"
                               "  feed: {use: file_source, path: scan.petsird}\n"
                               "  events: {use: petsird_decoder, from: feed}\n"
                               "  corrected: {use: event_corrections, from: events}\n"
                               "  subsets: {use: subset_builder, from: corrected, subsets: 2, iterations: 1}\n"
                               "  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, "
                               "sensitivity: {cache: false, exact_pairs: 0, sampled_pairs: 1000000}}\n"
                               "  estimate: {use: osem_update, from: projected}\n"
                               "  file: {use: nifti_writer, from: estimate}\n";
    const auto ran =
        run_command(fmt::format("run {} --quiet --set feed.path={} --set 'corrected.normalisation={}' "
                                "--overwrite --out {}",
                                pipeline.string(), input, normalisation, (folder / "run").string()));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return read_nifti(folder / "run" / "image.nii.gz");
  }
};

}  // namespace

TEST_CASE("a recording with a normalisation in its header gives the image that the file gives, in kBq/mL") {
  const HeaderFolder in;
  const auto inspected = run_command("inspect --json " + in.scan).json();
  std::size_t detectors = 0;
  for (const auto& type : inspected["module_types"])
    detectors += type["modules"].get<std::size_t>() * type["elements"].get<std::size_t>();
  in.write_norm(detectors);
  const auto ran = run_command(fmt::format("header {} --normalisation {} --json -o {}", in.scan, in.norm, in.made));
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.json()["calibration_factor"].get<double>() == approx(1.5));
  CHECK(ran.json()["crystals"] == detectors);
  Image by_header = in.image(in.made, "{from: scanner}");
  const Image by_file = in.image(in.scan, fmt::format("{{from: file, file: {}}}", in.norm));
  for (float& voxel : by_header.voxels.span()) voxel *= 1000;
  CHECK(compare(by_header, by_file).nrms < 1e-5);
  CHECK(compare(by_header, in.image(in.scan, "{from: scanner}")).nrms > 0.01);
  CHECK(run_command("inspect --json " + in.made).json()["quantity"]["unit_of_rate"] == "kBq/mL");
}

TEST_CASE("header refuses bad input in one line, and writes nothing") {
  const HeaderFolder in;
  const auto refusal = [&](const std::string& arguments, const char* words) {
    const CommandResult ran = run_command("header " + arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(std::ranges::count(ran.err, '\n') == 1);
    CHECK(ran.err.find(words) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(in.made));
  };
  const std::string to_made = " -o " + in.made, by_norm = " --normalisation " + in.norm;
  refusal(in.scan + by_norm + to_made, "norm.yaml");
  in.write_norm(3);
  refusal(in.scan + by_norm + to_made, "3 crystal efficiencies for the");
  refusal("none.petsird" + by_norm + to_made, "none.petsird");
  refusal(in.norm + by_norm + to_made, "norm.yaml");
  refusal(in.scan + by_norm + " -o " + in.scan, "is the recording itself");
  in.write_norm(3, "counts");
  const auto sizes_first = run_command("header " + in.scan + by_norm + to_made);
  CHECK(sizes_first.code == 2);
}
// SPDX-License-Identifier: Apache-2.0
