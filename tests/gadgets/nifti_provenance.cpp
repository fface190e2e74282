// What an image says about the run that made it.
#include <nlohmann/json.hpp>

#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/watch/fake_run.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

using WriterTest = RegisteredGadgetTest<void>;

Estimate estimate(int iteration) {
  auto image = std::make_shared<Image>(Image{Grid::centred(3, 3, 3, {4, 4, 4}), Buffer<float>(Memory::host, 27)});
  for (float& v : image->voxels.span()) v = 1;
  Estimate made;
  made.step.iteration = iteration;
  made.image = image;
  return made;
}

// The comment of the image that the writer makes from a start image and two updates.
std::string written_by(RunControl* run) {
  const TemporaryFolder folder;
  WriterTest writer("nifti_writer", "{}", folder.path(), run);
  writer.send(estimate(0));
  for (const std::uint64_t first : {300, 100}) {
    writer.context.set_message({.first_event = first, .end_event = first + 100});
    writer.send(estimate(1));
  }
  writer.finish();
  return read_nifti_comment(folder / "image.nii.gz");
}

}  // namespace

TEST_CASE("an image carries pipeline, books, history, versions and the events of all its updates") {
  FakeRun run;
  run.report.resolved.set("pipeline", Value::scalar("k\xc3\xb6rper"));
  run.report.changes = {{{}, "events", "low_keV", Value::scalar("440")}};
  const std::string comment = written_by(&run);
  CHECK(std::ranges::all_of(comment, [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  const auto json = nlohmann::json::parse(comment);
  CHECK(json["pipeline"] == "small");
  CHECK(json["resolved"]["pipeline"] == "k\xc3\xb6rper");
  CHECK(json["events"] == nlohmann::json{{"first", 100}, {"end", 400}});
  CHECK(json["books"]["rejected"]["too <soft>"] == 100);
  CHECK_FALSE(json["books"].contains("balanced"));
  CHECK(json["parameter_changes"][0]["value"] == 440);
  CHECK(json["versions"].contains("tofstream"));
}

TEST_CASE("without a run, or where it would not fit, an image is written without") {
  CHECK(written_by(nullptr) == "");
  FakeRun run;
  run.report.resolved.set("pipeline", Value::scalar(std::string(longest_nifti_comment, 'x')));
  CHECK(written_by(&run) == "");
}
// SPDX-License-Identifier: Apache-2.0
