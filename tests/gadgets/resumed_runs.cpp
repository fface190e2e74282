// Runs that end in the middle, of an epoch or of a frame, go on from their checkpoints to the image of a run that was
// not disturbed, to the last bit; and a checkpoint that is another run's is refused.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/support/displacement_file.hpp"

using namespace tofstream;

namespace {

struct ResumableRun {
  std::string subsets;
  std::string update = "use: osem_update";
  std::string prior = {};
  std::string photons = "seconds: 2";
  std::string size = "[8, 8, 6]";  // which some events miss
  std::string between = {};        // a gadget between the update and the projector
  std::string image = "estimate";  // that the projector reads
  std::string checkpoint = "use: checkpoint_writer, every_s: 0";
  std::filesystem::path resume_from = {};
  int throw_at = 0;  // message of the projector
};

struct ResumableResult {
  RunReport report;
  std::filesystem::path folder;

  std::vector<std::vector<float>> images() const {
    std::vector<std::vector<float>> images;
    for (const Image& image : read_nifti_volumes(folder / "image.nii.gz")) images.push_back(image.voxels.to_vector());
    return images;
  }
  std::int64_t projected() const { return figure("projected", "updates_projected"); }
  std::int64_t went_on_from() const { return figure("estimate", "resumed_update"); }
  std::int64_t figure(const char* gadget, const char* name) const {
    const auto& figures = std::ranges::find(report.gadgets, gadget, &GadgetReport::name)->figures;
    return figures.contains(name) ? std::get<std::int64_t>(figures.at(name)) : 0;
  }
  std::string error() const { return report.errors.empty() ? "" : report.errors[0].text(); }
};

std::string resumable_yaml(const ResumableRun& run) {
  return fmt::format(
      R"(
scanner: demo_ring
backend: cpu
image: {{size: {}, voxel_mm: 20}}
{}
gadgets:
  photons:   {{use: simulator, phantom: uniform_cylinder, {}, activity_scale: 0.003, batch_events: 100,
    attenuation: false}}
  sorted:    {{use: tof_partition, from: photons}}
  subsets:   {{{}, from: sorted}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: {}}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}, deterministic: true{}}}
{}{}
  estimate:  {{{}, from: {}}}
  checkpoint: {{{}, from: estimate}}
  file:      {{use: nifti_writer, from: estimate}}
)",
      run.size, run.resume_from.empty() ? "" : "resume_from: " + run.resume_from.string(), run.photons, run.subsets,
      run.image, run.throw_at > 0 ? fmt::format(", fault: {{throw_at: {}, delay_ms: 10}}", run.throw_at) : "",
      run.between, run.prior.empty() ? "" : fmt::format("  prior: {{{}, from: estimate}}", run.prior), run.update,
      run.prior.empty() ? "projected" : "{projected: projected, penalty: prior}", run.checkpoint);
}

ResumableResult run_yaml(const std::string& yaml, const std::filesystem::path& folder) {
  return {Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder, .earlier_run = EarlierRun::overwrite}).run(),
          folder};
}

ResumableResult whole_resumable(const ResumableRun& run, const std::filesystem::path& folder) {
  ResumableResult result = run_yaml(resumable_yaml(run), folder);
  REQUIRE_MESSAGE(result.report.exit_code == 0, result.error());
  CHECK(result.report.books.balanced());
  return result;
}

// Ends with an error at a message of the projector; gives the folder.
std::filesystem::path broken_off(ResumableRun run, int at, const std::filesystem::path& folder) {
  run.throw_at = at;
  const ResumableResult result = run_yaml(resumable_yaml(run), folder);
  CHECK(result.report.exit_code == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "image.nii.gz"));
  return folder;
}

ResumableRun resumed_from(ResumableRun run, const std::filesystem::path& folder) {
  run.resume_from = folder;
  return run;
}

void check_same(const ResumableResult& resumed, const ResumableResult& whole) {
  CHECK(resumed.images() == whole.images());
  CHECK(resumed.report.books.reconstructed == whole.report.books.reconstructed);
  CHECK(resumed.report.books.rejected == whole.report.books.rejected);
}

std::string refusal_of(const ResumableRun& run, const std::filesystem::path& folder) {
  const ResumableResult result = run_yaml(resumable_yaml(run), folder);
  CHECK(result.report.exit_code != 0);
  REQUIRE(!result.report.errors.empty());
  CHECK(result.error().find('\n') == std::string::npos);
  return result.error();
}

void check_refused(const ResumableRun& run, const std::filesystem::path& folder, const std::string& words) {
  const std::string error = refusal_of(run, folder);
  CHECK_MESSAGE(error.find(words) != std::string::npos, error);
  CHECK_FALSE(std::filesystem::exists(folder / "image.nii.gz"));
}

const ResumableRun svrg = {.subsets = "use: subset_builder, subsets: 4, cut: interleaved, order: random, iterations: 8",
                           .update = "use: svrg_update, warm_up: 1, anchor_every: 2",
                           .prior = "use: quadratic_prior, beta: 1e-6"};

}  // namespace

TEST_CASE("SVRG goes on from the last anchor, wherever it ended, to the image of a run that was not disturbed") {
  const TemporaryFolder folder;
  ResumableRun run = svrg;
  SUBCASE("interleaved subsets in random order") {}
  SUBCASE("subsets that go out as they come") {
    run.subsets = "use: subset_builder, seconds: 0.5, iterations: 8";
  }
  SUBCASE("without passes before the first anchor") {
    run.update = "use: svrg_update, warm_up: 0, anchor_every: 2";
  }
  SUBCASE("until it is at rest") {
    run.update += ", stop: {relative_change: 0.05, over: 3}";
    run.subsets = "use: subset_builder, subsets: 4, cut: interleaved, iterations: 60";
  }
  const ResumableResult whole = whole_resumable(run, folder / "whole");
  for (const int at : {3, 7, 12, 24}) {
    CAPTURE(at);
    const auto broken = broken_off(run, at, folder / fmt::format("broken{}", at));
    const std::int64_t update = checkpoint_step(broken).update;
    CAPTURE(update);
    if (at > 6) CHECK(update % 4 == 0);
    const ResumableResult resumed = whole_resumable(resumed_from(run, broken), folder / fmt::format("resumed{}", at));
    check_same(resumed, whole);
    CHECK(resumed.projected() + update == whole.projected());
    CHECK(resumed.went_on_from() == update);
  }
  CHECK(whole.went_on_from() == 0);
}

TEST_CASE("SVRG that ends again after it went on still comes to the same image") {
  const TemporaryFolder folder;
  const ResumableResult whole = whole_resumable(svrg, folder / "whole");
  const auto once = broken_off(svrg, 14, folder / "once");
  const auto twice = broken_off(resumed_from(svrg, once), 16, folder / "twice");
  CHECK(checkpoint_step(twice).update > checkpoint_step(once).update);
  check_same(whole_resumable(resumed_from(svrg, twice), folder / "resumed"), whole);
}

TEST_CASE("other updates of a file go on from the update at which they ended") {
  const TemporaryFolder folder;
  for (const std::string update :
       {"osem_update", "map_em_update", "bsrem_update, decay: 1", "ramla_update, decay: 1"}) {
    CAPTURE(update);
    const bool is_penalised = !update.starts_with("osem") && !update.starts_with("ramla");
    const ResumableRun run{.subsets = "use: subset_builder, subsets: 3, order: random, iterations: 3",
                           .update = "use: " + update,
                           .prior = is_penalised ? "use: quadratic_prior, beta: 1e-6" : ""};
    const ResumableResult whole = whole_resumable(run, folder / "whole");
    for (const int at : {3, 7}) {
      CAPTURE(at);
      const auto broken = broken_off(run, at, folder / "broken");
      CHECK(checkpoint_step(broken).update > 0);
      check_same(whole_resumable(resumed_from(run, broken), folder / "resumed"), whole);
    }
  }
}

TEST_CASE("views go on too, each of whose subsets has a sensitivity of its own") {
  const TemporaryFolder folder;
  const std::string camera = folder / "camera.yaml";
  std::ofstream(camera) << "name: coarse\ncamera: {pixels: [32, 32], pixel_mm: 17.6, heads_deg: [0, 180], views: 12,\n"
                           "  rotation_deg: 180, seconds: 20, radius_mm: 200, cps_per_MBq: 104,\n"
                           "  collimator: {name: LEHR, hole_mm: 1.11, length_mm: 24.05, gap_mm: 4.75}}\n";
  const auto yaml = [&](const std::string& more, const std::string& fault) {
    return fmt::format(R"(
backend: cpu
scanner: {}
image: {{size: [32, 32, 32], voxel_mm: 17.6}}
{}
gadgets:
  photons:   {{use: spect_simulator, events: 20000}}
  subsets:   {{use: view_subsets, from: photons, subsets: 4, iterations: 5}}
  projected: {{use: rotation_projector, from: {{views: subsets, image: estimate}}{}}}
  estimate:  {{use: svrg_update, from: projected, anchor_every: 2}}
  checkpoint: {{use: checkpoint_writer, from: estimate, every_s: 0}}
  file:      {{use: nifti_writer, from: estimate}}
)",
                       camera, more, fault);
  };
  const ResumableResult whole = run_yaml(yaml("", ""), folder / "whole");
  REQUIRE_MESSAGE(whole.report.exit_code == 0, whole.error());
  CHECK(run_yaml(yaml("", ", fault: {throw_at: 12, delay_ms: 10}"), folder / "broken").report.exit_code == 1);
  CHECK(checkpoint_step(folder / "broken").update == 4);
  const ResumableResult resumed =
      run_yaml(yaml("resume_from: " + (folder / "broken").string(), ""), folder / "resumed");
  REQUIRE_MESSAGE(resumed.report.exit_code == 0, resumed.error());
  CHECK(resumed.report.books.balanced());
  check_same(resumed, whole);
}

TEST_CASE("frames that were complete are not reconstructed again, and that which had begun begins anew") {
  const TemporaryFolder folder;
  ResumableRun run{.subsets = "use: framing, frames: [0.5, 0.4, 1-2], subsets: 2, least_events: 0, iterations: 3"};
  SUBCASE("from the start image") {}
  SUBCASE("from the frame before") {
    run.subsets += ", start: previous";
  }
  SUBCASE("at rest one by one") {
    run.subsets = "use: framing, frames: [0.5, 0.4, 1-2], subsets: 1, least_events: 0, iterations: 40";
    run.update += ", stop: {relative_change: 0.05, over: 2}";
  }
  SUBCASE("of SVRG") {
    run.update = svrg.update;
  }
  const ResumableResult whole = whole_resumable(run, folder / "whole");
  REQUIRE(whole.images().size() == 3);
  const std::string times = text_of(folder / "whole/image.json");
  for (const int at : {4, 13, 19, 1000}) {  // before any frame is complete, and after all are
    CAPTURE(at);
    const auto broken = at == 1000 ? folder / "whole" : broken_off(run, at, folder / fmt::format("broken{}", at));
    int complete = 0;
    while (std::filesystem::exists(frame_checkpoint(broken, complete + 1))) ++complete;
    if (at == 4) CHECK(complete == 0);
    if (at > 4) CHECK(complete > 0);
    CHECK_FALSE(std::filesystem::exists(broken / checkpoint_name));
    const ResumableResult resumed = whole_resumable(resumed_from(run, broken), folder / fmt::format("resumed{}", at));
    check_same(resumed, whole);
    CHECK(text_of(resumed.folder / "image.json") == times);
    CHECK((resumed.projected() < whole.projected()) == (complete > 0));
    if (at == 1000) CHECK(resumed.projected() == 0);
    // All checkpoints are there once more, for whoever goes on from here.
    for (int frame = 1; frame <= 3; ++frame)
      CHECK(text_of(frame_checkpoint(resumed.folder, frame)) == text_of(frame_checkpoint(folder / "whole", frame)));
  }
}

TEST_CASE("a frame without events, and one in which the scan ended, do not confuse a run that goes on") {
  const TemporaryFolder folder;
  ResumableRun run{.subsets = "use: framing, frames: [0.5, 0.00001, 0.4, 1-2], subsets: 2, least_events: 0"};
  const ResumableResult whole = whole_resumable(run, folder / "whole");
  ResumableRun shorter = run;
  shorter.photons = "seconds: 1.5";
  const ResumableResult ended = whole_resumable(shorter, folder / "ended");
  REQUIRE(ended.images().size() == whole.images().size());
  // The scan goes on where it had been ended: the last frame has more events, and all of them.
  const ResumableResult resumed = whole_resumable(resumed_from(run, folder / "ended"), folder / "resumed");
  check_same(resumed, whole);
  CHECK(resumed.projected() == 2);
  // A frame that is missing among the checkpoints: all from there on are made again.
  std::filesystem::remove(frame_checkpoint(folder / "whole", 3));
  const auto expected = whole.images();
  const ResumableResult again = whole_resumable(resumed_from(run, folder / "whole"), folder / "again");
  CHECK(again.images() == expected);
  CHECK(again.projected() == 4);
}

TEST_CASE("gates go on as frames do") {
  const TemporaryFolder folder;
  std::ofstream(folder / "triggers.csv") << "time_s\n0\n0.4\n0.8\n1.2\n1.6\n2\n";
  const ResumableRun run{.subsets =
                             fmt::format("use: gating, signal: table, file: {}, by: phase, gates: 3, subsets: 2, "
                                         "least_events: 0, iterations: 2, longest_step_s: 1",
                                         (folder / "triggers.csv").string())};
  const ResumableResult whole = whole_resumable(run, folder / "whole");
  REQUIRE(whole.images().size() == 3);
  const auto broken = broken_off(run, 9, folder / "broken");
  CHECK(std::filesystem::exists(frame_checkpoint(broken, 1)));
  const ResumableResult resumed = whole_resumable(resumed_from(run, broken), folder / "resumed");
  check_same(resumed, whole);
  CHECK(resumed.projected() < whole.projected());
  ResumableRun fewer = resumed_from(run, broken);
  fewer.subsets.replace(fewer.subsets.find("gates: 3"), 8, "gates: 2");
  check_refused(fewer, folder / "fewer", "checkpoint_frame_0001.tofc has gate 1 of 3");
}

TEST_CASE("one image of all gates goes on in the middle of a pass") {
  const TemporaryFolder folder;
  std::ofstream(folder / "signal.csv") << "time_s,value\n0,0\n0.99,0\n1,1\n2,1\n";
  DisplacementFile{.dims = {5, 2, 2, 2, 1, 3, 1, 1},
                   .voxel_mm = 400,
                   .origin_mm = {-200, -200, -200},
                   .value = [](std::size_t axis, std::size_t) { return axis == 2 ? 8.0f : 0.0f; }}
      .write(folder / "field.nii");
  const ResumableRun run{
      .subsets = fmt::format("use: gating, signal: table, file: {}, gates: 2, bounds: equal_amplitude, images: one, "
                             "subsets: 2, least_events: 0, iterations: 3",
                             (folder / "signal.csv").string()),
      .between = fmt::format("  deformed: {{use: gate_warp, from: {{events: subsets, image: estimate}}, frame: lps, "
                             "fields: [none, {}]}}\n",
                             (folder / "field.nii").string()),
      .image = "deformed"};
  const ResumableResult whole = whole_resumable(run, folder / "whole");
  REQUIRE(whole.images().size() == 1);
  const auto broken = broken_off(run, 7, folder / "broken");
  const ResumableResult resumed = whole_resumable(resumed_from(run, broken), folder / "resumed");
  check_same(resumed, whole);
  CHECK(resumed.projected() < whole.projected());
}

TEST_CASE("checkpoints of other frames, iterations, data, images or algorithms are refused by one line") {
  const TemporaryFolder folder;
  const ResumableRun run{.subsets = "use: framing, frames: [0.5, 0.5, 1], subsets: 2, least_events: 0, iterations: 3"};
  const auto broken = broken_off(run, 13, folder / "broken");
  REQUIRE(std::filesystem::exists(frame_checkpoint(broken, 1)));
  const auto with = [&](const std::string& subsets) {
    ResumableRun other = resumed_from(run, broken);
    if (!subsets.empty()) other.subsets = "use: framing, least_events: 0, " + subsets;
    return other;
  };
  check_refused(with("frames: [0.5, 0.5, 0.5, 0.5], subsets: 2, iterations: 3"), folder / "a",
                "checkpoint_frame_0001.tofc has frame 1 of 3 (0 to 0.5 s), which here is frame 1 of 4 (0 to 0.5 s): "
                "resume with the settings and data of the run that was killed, or leave resume_from out");
  check_refused(with("frames: [0.4, 0.6, 1], subsets: 2, iterations: 3"), folder / "a",
                "has frame 1 of 3 (0 to 0.5 s), which here is frame 1 of 3 (0 to 0.4 s)");
  check_refused(with("frames: [0.5, 0.5, 1], subsets: 2, iterations: 4"), folder / "a",
                "has update 6 of iteration 3 as its frame's last one, which here is update 8 of iteration 4");
  check_refused(with("frames: [0.5, 0.5, 1], subsets: 3, iterations: 3"), folder / "a",
                "has update 6 of iteration 3 as its frame's last one, which here is update 9 of iteration 3");
  check_refused(with("frames: [0.5, 0.5, 1], subsets: 2, iterations: 3, together: true"), folder / "a",
                "lie checkpoints of frames that were reconstructed one by one, and here they are together");
  ResumableRun other = with("");
  other.photons = "seconds: 2, seed: 7";
  check_refused(other, folder / "a", "checkpoint_frame_0001.tofc has the image of the first ");
  other = with("");
  other.update = "use: ramla_update";
  check_refused(other, folder / "a", "is of osem_update, and this run has ramla_update");
  other = with("");
  other.size = "[9, 8, 6]";
  check_refused(other, folder / "a", "belongs to another image than `image` describes");
  other = with("");
  other.subsets = "use: subset_builder, subsets: 2";
  check_refused(other, folder / "a", "lie checkpoints of frames, and this run has none");
  other.resume_from = frame_checkpoint(broken, 1);
  check_refused(other, folder / "a", "checkpoint_frame_0001.tofc is of one frame alone");
  const auto file = frame_checkpoint(broken, 1);
  std::string damaged = text_of(file);
  damaged[200] = static_cast<char>(damaged[200] ^ 4);
  std::ofstream(file, std::ios::binary) << damaged;
  check_refused(with(""), folder / "a", "checkpoint_frame_0001.tofc is not a whole checkpoint (its checksum)");
  std::ofstream(file, std::ios::binary) << damaged.substr(0, 30);
  check_refused(with(""), folder / "a", "checkpoint_frame_0001.tofc is not a whole checkpoint (too short)");
}

TEST_CASE("a checkpoint of one image is refused where it is not this run's") {
  const TemporaryFolder folder;
  const auto broken = broken_off(svrg, 14, folder / "broken");
  REQUIRE(checkpoint_step(broken).update == 4);
  const auto with = [&](const std::string& subsets) {
    ResumableRun other = resumed_from(svrg, broken);
    if (!subsets.empty()) other.subsets = subsets;
    return other;
  };
  check_refused(with("use: framing, frames: [1, 1]"), folder / "a", "is of a run without frames");
  check_refused(
      with("use: subset_builder, subsets: 2, iterations: 4"), folder / "a",
      "resume_from: the checkpoint is of update 4 in iteration 1, and here that is one of iteration 2: resume "
      "with the data and settings of the run that was killed, or leave resume_from out");
  check_refused(with("use: subset_builder, subsets: 1, iterations: 3"), folder / "a", "and here there are 3 in all");
  ResumableRun other = with("");
  other.photons = "seconds: 2, seed: 7";
  check_refused(other, folder / "a", "and here so far there are ");
  other = with("");
  other.update = "use: bsrem_update";
  check_refused(other, folder / "a", "is of svrg_update, and this run has bsrem_update");
  other = with("");
  other.update = "use: svrg_update, warm_up: 0, anchor_every: 2";
  check_refused(other, folder / "a", "is not of an anchor of this run");
  // One of the two gadgets that go on alone.
  for (const bool is_update : {true, false}) {
    CAPTURE(is_update);
    other = svrg;
    (is_update ? other.update : other.subsets) += ", resume_from: " + broken.string();
    if (is_update) other.subsets = "use: framing, frames: [1, 1]";
    check_refused(
        other, folder / "a",
        is_update ? "is of a run without frames" : "the first subset is of update 5, and this image is of update 0");
  }
  // As an older version wrote them, of any update.
  const auto checkpoint = read_checkpoint(broken);
  write_checkpoint(broken / checkpoint_name, {4, 1}, checkpoint->image);
  check_refused(with(""), folder / "a", "is not of an anchor of this run: it is of an older version");
  // Within an anchor's pass, where the last subsets alone would make an anchor.
  write_checkpoint(broken / checkpoint_name, {.update = 6, .iteration = 2, .kept = checkpoint->step.kept},
                   checkpoint->image);
  check_refused(with(""), folder / "a", "is not of an anchor of this run");
}

TEST_CASE("an older checkpoint, which names no algorithm and counts no events, is gone on from") {
  const TemporaryFolder folder;
  const ResumableRun run{.subsets = "use: subset_builder, subsets: 3, iterations: 3"};
  const ResumableResult whole = whole_resumable(run, folder / "whole");
  const auto broken = broken_off(run, 8, folder / "broken");
  const auto checkpoint = read_checkpoint(broken);
  REQUIRE(checkpoint);
  CHECK(checkpoint->step.algorithm == "osem_update");
  CHECK(checkpoint->step.events > 0);
  write_checkpoint(broken / checkpoint_name,
                   {checkpoint->step.update, checkpoint->step.iteration, checkpoint->step.rejected}, checkpoint->image,
                   checkpoint->quantity.get());
  check_same(whole_resumable(resumed_from(run, broken), folder / "resumed"), whole);
}

// SPDX-License-Identifier: Apache-2.0
