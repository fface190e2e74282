// A reconstruction that ends once its updates have come to rest: with the image of as many iterations, in every way of
// making it, resumed and followed too, and run.json says when and why.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/nifti/frame_times.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/penalty.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

struct RestRun {
  std::string subsets = "use: subset_builder, subsets: 1, iterations: 40";
  std::string update = "use: osem_update";
  std::string prior = {};
  std::string writer = {};  // further parameters
  std::string checkpoint = {};
};

struct RestResult {
  RunReport report;
  std::filesystem::path folder;

  std::vector<float> image() const { return read_nifti(folder / "image.nii.gz").voxels.to_vector(); }
  Figure figure(const std::string& gadget, const std::string& name) const {
    return std::ranges::find(report.gadgets, gadget, &GadgetReport::name)->figures.at(name);
  }
  bool has(const std::string& gadget, const std::string& name) const {
    return std::ranges::find(report.gadgets, gadget, &GadgetReport::name)->figures.contains(name);
  }
  std::int64_t iterations() const { return std::get<std::int64_t>(figure("file", "iteration")); }
  std::vector<double> stopped_at() const {
    return std::get<std::vector<double>>(figure("estimate", "stopped_at_update"));
  }
};

RestResult rest_result(const RestRun& run, const std::filesystem::path& folder) {
  const std::string yaml = fmt::format(
      R"(
scanner: demo_ring
backend: cpu
image: {{size: [16, 16, 6], voxel_mm: 20}}
gadgets:
  photons:   {{use: simulator, phantom: uniform_cylinder, seconds: 2, activity_scale: 0.003, batch_events: 500,
    attenuation: false}}
  sorted:    {{use: tof_partition, from: photons}}
  subsets:   {{{}, from: sorted}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}}}
{}
  estimate:  {{{}, from: {}}}
  checkpoint: {{use: checkpoint_writer, from: estimate, every_s: 0{}}}
  file:      {{use: nifti_writer, from: estimate{}}}
)",
      run.subsets, run.prior.empty() ? "" : fmt::format("  prior: {{{}, from: estimate}}", run.prior), run.update,
      run.prior.empty() ? "projected" : "{projected: projected, penalty: prior}", run.checkpoint, run.writer);
  RestResult result{
      Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder, .earlier_run = EarlierRun::overwrite}).run(),
      folder};
  if (result.report.exit_code == 0) CHECK(result.report.books.balanced());
  return result;
}

RestResult whole_run(const RestRun& run, const std::filesystem::path& folder) {
  RestResult result = rest_result(run, folder);
  REQUIRE_MESSAGE(result.report.exit_code == 0,
                  (result.report.errors.empty() ? "the books do not balance" : result.report.errors[0].text()));
  return result;
}

constexpr auto* rest_at_2_percent = ", stop: {relative_change: 0.02, over: 3}";

}  // namespace

TEST_CASE("at rest, a reconstruction ends with the image of so many iterations, and says when and why") {
  const TemporaryFolder folder;
  const RestResult stopped = whole_run({.update = std::string("use: osem_update") + rest_at_2_percent}, folder / "a");
  const std::int64_t made = stopped.iterations();
  REQUIRE(made > 3);
  REQUIRE(made < 40);
  CHECK(stopped.stopped_at() == std::vector<double>{static_cast<double>(made)});
  CHECK(std::get<std::int64_t>(stopped.figure("projected", "updates_projected")) == made);
  CHECK(std::get<double>(stopped.figure("estimate", "relative_change")) < 0.02);
  CHECK(
      std::get<std::string>(stopped.figure("estimate", "stopped_because")) ==
      fmt::format("iteration {0} of 40, update {0}: each of the last 3 updates changed the estimate by less than 0.02",
                  made));
  const auto subsets = fmt::format("use: subset_builder, subsets: 1, iterations: {}", made);
  CHECK(whole_run({.subsets = subsets}, folder / "b").image() == stopped.image());
  // One bound that is never met changes nothing and says nothing of an end.
  const RestResult never = whole_run(
      {.subsets = subsets, .update = "use: osem_update, stop: {relative_change: 1e-9, over: 1}"}, folder / "c");
  CHECK(never.image() == stopped.image());
  CHECK_FALSE(never.has("estimate", "stopped_because"));
  CHECK(whole_run({.subsets = subsets, .update = "use: osem_update, stop: never"}, folder / "d").image() ==
        stopped.image());
}

TEST_CASE("every update and prior ends at rest with a whole iteration, whose image is that of so many iterations") {
  const TemporaryFolder folder;
  for (const std::string update :
       {"osem_update", "map_em_update", "bsrem_update, decay: 1", "svrg_update", "ramla_update, decay: 1"}) {
    CAPTURE(update);
    const std::string prior =
        update.starts_with("ramla") || update.starts_with("osem") ? "" : "use: quadratic_prior, beta: 1e-3";
    const auto subsets = [](std::int64_t iterations) {
      return fmt::format("use: subset_builder, subsets: 1, iterations: {}, reference_s: 0", iterations);
    };
    const RestResult stopped = whole_run({.subsets = subsets(60),
                                          .update = "use: " + update + ", stop: {relative_change: 0.1, over: 2}",
                                          .prior = prior},
                                         folder / "stopped");
    const std::int64_t made = stopped.iterations();
    REQUIRE(made < 60);
    CHECK(stopped.stopped_at() == std::vector<double>{static_cast<double>(made)});
    const RestResult whole =
        whole_run({.subsets = subsets(made), .update = "use: " + update, .prior = prior}, folder / "whole");
    CHECK(whole.image() == stopped.image());
  }
}

TEST_CASE("frames end at rest one by one, each with the image that it has alone") {
  const TemporaryFolder folder;
  const std::string update = std::string("use: osem_update") + rest_at_2_percent;
  const auto frames = [](const char* words) {
    return fmt::format("use: framing, frames: {}, subsets: 1, least_events: 0, iterations: 40", words);
  };
  for (const std::string start : {"start_image", "previous"}) {
    CAPTURE(start);
    const RestResult both =
        whole_run({.subsets = frames("[1, 1]") + ", start: " + start, .update = update}, folder / "both");
    CHECK(both.stopped_at().size() == 2);
    const auto images = read_nifti_volumes(folder / "both/image.nii.gz");
    REQUIRE(images.size() == 2);
    CHECK(read_frame_times(folder / "both/image.nii.gz", 2)->start_s == std::vector<double>{0, 1});
    if (start == "previous") continue;
    const RestResult alone = whole_run({.subsets = frames("[1-2]"), .update = update}, folder / "alone");
    CHECK(read_nifti_volumes(folder / "alone/image.nii.gz")[0].voxels.to_vector() == images[1].voxels.to_vector());
  }
}

TEST_CASE("live, what final: offline does ends at rest with the offline image; followed and resumed it is the same") {
  const TemporaryFolder folder;
  const std::string update = "use: osem_update, stop: {relative_change: 0.1, over: 2}";
  const std::string live = "use: live_subsets, seconds: 1, iterations: 30, final: offline";
  const RestResult whole = whole_run({.subsets = live, .update = update}, folder / "whole");
  REQUIRE(whole.has("estimate", "stopped_because"));
  const std::int64_t last = checkpoint_step(folder / "whole").update;
  CHECK(whole.stopped_at() == std::vector<double>{static_cast<double>(last)});
  const RestResult offline =
      whole_run({.subsets = "use: subset_builder, seconds: 1, iterations: 30", .update = update}, folder / "offline");
  CHECK(offline.iterations() == whole.iterations());
  CHECK(offline.image() == whole.image());
  const std::string follow = fmt::format("{}, follow: {}", live, (folder / "whole").string());
  const RestResult again = whole_run({.subsets = follow, .update = update}, folder / "again");
  CHECK(again.image() == whole.image());
  CHECK(again.stopped_at() == whole.stopped_at());
  // Ended by an error before it is at rest, with the last but one update and with the last one.
  for (const std::int64_t made : {last - 2, last - 1, last}) {
    CAPTURE(made);
    const std::filesystem::path stopped = folder / "stopped";
    std::filesystem::remove_all(stopped);
    // One message more is the start image, and one the restart.
    const std::string fault = made == last ? "" : fmt::format(", fault: {{throw_at: {}}}", made + 2);
    const RestResult broken = rest_result({.subsets = follow, .update = update, .checkpoint = fault}, stopped);
    CHECK(broken.report.exit_code == (made == last ? 0 : 1));
    MESSAGE("the checkpoint is of update ", checkpoint_step(stopped).update, " of ", last);
    std::filesystem::copy_file(folder / "whole/order.jsonl", stopped / "order.jsonl",
                               std::filesystem::copy_options::overwrite_existing);
    const std::string resume = ", resume_from: " + stopped.string();
    const RestResult resumed =
        whole_run({.subsets = live + resume, .update = update + resume}, folder / fmt::format("resumed{}", made));
    CHECK(resumed.image() == whole.image());
  }
}

TEST_CASE("views end at rest, each of whose subsets has a sensitivity of its own") {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& stop, std::int64_t iterations, const char* name) {
    const std::string yaml = fmt::format(R"(
backend: cpu
scanner: spect_lehr
image: {{size: [24, 24, 24], voxel_mm: 23.5}}
gadgets:
  photons:   {{use: spect_simulator, events: 20000}}
  subsets:   {{use: view_subsets, from: photons, subsets: 2, iterations: {}}}
  projected: {{use: rotation_projector, from: {{views: subsets, image: estimate}}}}
  estimate:  {{use: osem_update, from: projected{}}}
  file:      {{use: nifti_writer, from: estimate}}
)",
                                         iterations, stop);
    const RunReport report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / name}).run();
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "" : report.errors[0].text()));
    CHECK(report.books.balanced());
    return RestResult{report, folder / name};
  };
  const RestResult stopped = run(", stop: {relative_change: 0.15, over: 2}", 30, "stopped");
  REQUIRE(stopped.iterations() < 30);
  CHECK(run("", stopped.iterations(), "whole").image() == stopped.image());
}

TEST_CASE("an update answers a step that was passed to the projector alone, and a restart ends its rest") {
  RegisteredGadgetTest<Estimate> update("osem_update",
                                        "{image: {size: [2, 1, 1], voxel_mm: 1}, start_value: 2, backend: cpu, "
                                        "stop: {relative_change: 0.5, over: 1}}");
  const Grid grid = Grid::centred(2, 1, 1, {1, 1, 1});
  const std::shared_ptr<const Penalty> none;
  const auto image = [&](float value) { return std::make_shared<const Image>(Image::filled(grid, value)); };
  const auto step = [](int iteration) {
    return UpdateStep{.iteration = iteration, .iterations = 9, .subsets = 1, .ends_iteration = true};
  };
  update.start();
  update.send(std::make_shared<const Projected>(
                  Projected{.step = step(1), .back_projection = image(2), .sensitivity = image(1)}),
              none);
  CHECK_FALSE(update.out.all().back()->is_at_rest);
  update.send(std::make_shared<const Projected>(
                  Projected{.step = step(2), .back_projection = image(1.25f), .sensitivity = image(1)}),
              none);
  const auto last = update.out.all().back();
  CHECK(last->is_at_rest);
  CHECK(last->step.last);
  CHECK(last->step.iterations == 2);
  UpdateStep passed = step(3);
  passed.passed = true;
  update.send(std::make_shared<const Projected>(Projected{.step = passed}), none);
  CHECK(update.out.all().back()->is_announcement());
  CHECK(update.out.all().back()->is_at_rest);
  update.send(std::make_shared<const Projected>(Projected{
                  .step = restart_of<EventBatch>(4).step, .back_projection = image(0), .sensitivity = image(1)}),
              none);
  CHECK_FALSE(update.out.all().back()->is_at_rest);
  CHECK(update.out.all().back()->image->voxels[0] == 2);
}

TEST_CASE("a rule that could never hold, or always would, is refused with its place") {
  const auto refused = [](const std::string& stop, const std::string& words) {
    CAPTURE(stop);
    CHECK_THROWS_WITH(RegisteredGadgetTest<Estimate>("osem_update",
                                                     "{image: {size: [2, 1, 1], voxel_mm: 1}, "
                                                     "backend: cpu, stop: " +
                                                         stop + "}"),
                      doctest::Contains(words.c_str()));
  };
  refused("{relative_change: 0}", "relative_change");
  refused("{relative_change: -0.1}", "relative_change");
  refused("{relative_change: 1.5}", "relative_change");
  refused("{relative_change: 0.1, over: 0}", "over");
  refused("{over: 3}", "relative_change");
  refused("{relative_change: .nan}", "relative_change");
  refused("soon", "never");
}
// SPDX-License-Identifier: Apache-2.0
