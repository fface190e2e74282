// The JSON of BIDS that nifti_writer puts beside its images: for frames always, for others where it is asked to.
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/watch/fake_run.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

using BidsWriterTest = RegisteredGadgetTest<void>;

Estimate with_step(const UpdateStep& step) {
  Estimate made;
  made.step = step;
  made.image = std::make_shared<const Image>(Image::filled(Grid::centred(3, 3, 3, {4, 4, 4}), 1));
  return made;
}

nlohmann::json json_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return nlohmann::json::parse(file);
}

}  // namespace

TEST_CASE("nifti_writer writes BIDS' JSON beside a static image on request alone") {
  const TemporaryFolder folder;
  FakeRun run;
  run.report.gadgets.front().figures["scan_s"] = 90.0;
  run.report.gadgets.push_back({.name = "estimate", .use = "map_em_update"});
  for (const bool bids : {false, true}) {
    BidsWriterTest writer("nifti_writer",
                          bids ? "{bids: true, every: iteration, tracer: {name: FDG}}" : "{every: iteration}",
                          folder.path(), &run);
    writer.send(with_step({.iteration = 1, .iterations = 1, .subsets = 4, .ends_iteration = true, .last = true}));
    writer.finish();
    CHECK(std::filesystem::exists(folder / "image.json") == bids);
    CHECK(std::filesystem::exists(folder / "image_0001.json") == bids);
  }
  const auto json = json_of(folder / "image.json");
  CHECK(json["FrameTimesStart"] == nlohmann::json{0});
  CHECK(json["FrameDuration"] == nlohmann::json{90});
  CHECK(json["TracerName"] == "FDG");
  CHECK(json["ReconMethodName"] == "MAP-EM");
  CHECK(json["ReconMethodParameterValues"] == nlohmann::json{1, 4});
  CHECK_FALSE(json_of(folder / "image_0001.json").contains("FrameDuration"));  // the scan may still go on
}

TEST_CASE(
    "nifti_writer's JSON of an image of a gamma camera says so, and a tracer of PET is refused with the start image") {
  const TemporaryFolder folder;
  Estimate start = with_step({.iteration = 0});
  start.modality = Modality::spect;
  BidsWriterTest of_pet("nifti_writer", "{bids: true, tracer: {isotope: F-18}}", folder.path());
  CHECK_THROWS_WITH(of_pet.send(start), doctest::Contains("F-18 is imaged by its positrons"));
  BidsWriterTest writer("nifti_writer", "{bids: true, tracer: {isotope: Tc-99m}}", folder.path());
  writer.send(start);
  start.step = {.iteration = 1, .iterations = 1, .subsets = 4, .ends_iteration = true, .last = true};
  writer.send(start);
  writer.finish();
  CHECK(json_of(folder / "image.json")["Modality"] == "NM");
}

TEST_CASE("nifti_writer writes BIDS' JSON beside frames, with what the user adds") {
  const TemporaryFolder folder;
  std::ofstream(folder / "pet.json") << R"({"BodyPart": "brain"})";
  BidsWriterTest writer(
      "nifti_writer",
      fmt::format("{{bids_details: {}, scan_start: '2026-03-01T09:30:00'}}", (folder / "pet.json").string()),
      folder.path());
  for (int number = 1; number <= 2; ++number)
    writer.send(with_step({.iteration = 1,
                           .iterations = 1,
                           .subsets = 1,
                           .ends_iteration = true,
                           .frame = {.number = number, .frames = 2, .start_s = 10.0 * number, .duration_s = 10}}));
  writer.finish();
  const auto json = json_of(folder / "image.json");
  CHECK(json["FrameTimesStart"] == nlohmann::json{10, 20});
  CHECK(json["TimeZero"] == "09:30:00");
  CHECK(json["BodyPart"] == "brain");
  CHECK_THROWS_WITH(BidsWriterTest("nifti_writer", "{scan_start: noon}"), doctest::Contains("scan_start: noon"));
}
// SPDX-License-Identifier: Apache-2.0
