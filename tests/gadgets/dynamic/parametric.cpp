// Parametric images directly from the events: they are OSEM's where there is one constant function, they show a curve
// that was simulated, and what cannot be is one line.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/nifti/frame_times.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/dynamic/time_function.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

struct ParametricRun {
  std::string phantom = "phantom: uniform_cylinder, activity_scale: 0.003";
  std::string subsets = "use: framing, frames: [0.5, 1, 0.5], together: true, subsets: 1, iterations: 3";
  std::string update = "use: parametric_update, functions: functions.csv";
  std::string image = "estimate.image", frames = "estimate.frames";
  std::string more = {};   // gadgets
  std::string fault = {};  // of the projector
  std::filesystem::path resume_from = {};

  RunReport report(const TemporaryFolder& folder, const std::string& table) const {
    const std::filesystem::path file = folder / "functions.csv";
    std::ofstream(file) << table;
    std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [20, 20, 8], voxel_mm: [14, 14, 18]}}
{}
gadgets:
  photons: {{use: simulator, {}, seconds: 2, batch_events: 500, attenuation: false}}
  subsets: {{{}, from: photons}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: {}}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 100000, cache: false}}, deterministic: true{}}}
  estimate: {{{}, from: projected}}
  file: {{use: nifti_writer, from: {}}}
{}
)",
                                   resume_from.empty() ? "" : "resume_from: " + resume_from.string(), phantom, subsets,
                                   image, fault, update, frames, more);
    boost::replace_all(yaml, "functions.csv", file.string());
    return Engine(parse_pipeline(yaml, (folder / "test.yaml").string()), {.output_dir = folder / "out"}).run();
  }
  std::string error(const std::string& table = "time_s,f1\n0,1\n2,1\n") const {
    const TemporaryFolder folder;
    const RunReport made = report(folder, table);
    CHECK(made.exit_code != 0);
    return made.errors.empty() ? "" : made.errors[0].text();
  }
};

double mean_in_middle(const Image& image) {
  double sum = 0, count = 0;
  for (int k = 3; k < 5; ++k)
    for (int j = 7; j < 13; ++j)
      for (int i = 7; i < 13; ++i, ++count) sum += static_cast<double>(image.voxels[image.grid.index(i, j, k)]);
  return sum / count;
}

constexpr auto* two_functions = "time_s,f1,f2\n0,1,0\n2,1,2\n";

ParametricRun with_checkpoint() {
  ParametricRun run;
  run.subsets = "use: framing, frames: [0.5, 1, 0.5], together: true, subsets: 2, order: random, iterations: 3";
  run.more = "  checkpoint: {use: checkpoint_writer, from: estimate.coefficients, every_s: 0}";
  return run;
}

// Ends at a message of the projector; an announcement, then three for each of six updates.
ParametricRun resumed_after(int message, const TemporaryFolder& folder) {
  ParametricRun run = with_checkpoint();
  run.fault = fmt::format(", fault: {{throw_at: {}, delay_ms: 10}}", message);
  CHECK(run.report(folder, two_functions).exit_code == 1);
  run = with_checkpoint();
  run.resume_from = folder / "out";
  return run;
}

void require_success(const RunReport& report) {
  REQUIRE_MESSAGE(report.exit_code == 0,
                  (report.errors.empty() ? "the books do not balance" : report.errors[0].text()));
  CHECK(report.books.balanced());
}

}  // namespace

TEST_CASE("with one constant function, frames together are one scan, and its image is OSEM's") {
  const TemporaryFolder direct, whole, by_events;
  require_success(ParametricRun{}.report(direct, "time_s,f1\n0,1\n2,1\n"));
  ParametricRun osem;
  osem.subsets = "use: subset_builder, subsets: 1, iterations: 3";
  osem.update = "use: osem_update";
  osem.image = osem.frames = "estimate";
  require_success(osem.report(whole, "time_s\n0\n"));
  const Image made = read_nifti(direct / "out" / "f1.nii.gz"), expected = read_nifti(whole / "out" / "image.nii.gz");
  REQUIRE(made.grid == expected.grid);
  std::int64_t differ = 0;
  for (std::int64_t v = 0; v < made.voxels.size(); ++v)
    differ += made.voxels[v] != approx(expected.voxels[v]).epsilon(1e-3) ? 1 : 0;
  CHECK(differ == 0);
  const auto frames = read_nifti_volumes(direct / "out" / "image.nii.gz");
  REQUIRE(frames.size() == 3);
  for (const Image& frame : frames) CHECK(frame.voxels.to_vector() == made.voxels.to_vector());
  ParametricRun cut_by_events;
  cut_by_events.subsets = "use: framing, frames_of_events: 2000, together: true, subsets: 1, iterations: 3";
  require_success(cut_by_events.report(by_events, "time_s,f1\n0,1\n2,1\n"));
  const Image again = read_nifti(by_events / "out" / "f1.nii.gz");
  for (std::int64_t v = 0; v < made.voxels.size(); ++v)
    differ += again.voxels[v] != approx(expected.voxels[v]).epsilon(1e-3) ? 1 : 0;
  CHECK(differ == 0);
  CHECK(read_nifti_volumes(by_events / "out" / "image.nii.gz").size() > 2);
}

TEST_CASE("a curve that was simulated comes back as the coefficient of its function, in frames and directly") {
  const std::string curve = "time_s,f1\n0,0.2\n1,1.8\n2,0.2\n";
  ParametricRun run{.phantom = "phantom: uniform_cylinder, activity_scale: 0.01"};
  const TemporaryFolder folder;
  std::ofstream(folder / "curve.csv") << curve;
  run.phantom += fmt::format(", curves: {{file: {}, solids: [water], step_s: 0.1}}", (folder / "curve.csv").string());
  run.subsets = "use: framing, frames: [8x0.25], together: true, subsets: 2, iterations: 6";
  require_success(run.report(folder, curve));
  const Image made = read_nifti(folder / "out" / "f1.nii.gz");
  const auto frames = read_nifti_volumes(folder / "out" / "image.nii.gz");
  REQUIRE(frames.size() == 8);
  const auto centre = [&](std::size_t f) { return frames[f].voxels[made.grid.index(10, 10, 4)]; };
  CHECK(centre(3) / centre(0) == approx(1.6 / 0.4).epsilon(1e-4));  // means of f1 over the frames
  const double truth = 0.01 * 10000;
  CHECK(mean_in_middle(made) == approx(truth).epsilon(0.05));
}

TEST_CASE("a frame of so many events is short while the tracer is there, and its image is right") {
  ParametricRun run{.phantom = "phantom: uniform_cylinder, activity_scale: 0.01"};
  const TemporaryFolder folder;
  std::ofstream(folder / "curve.csv") << "time_s,f1\n0,0.2\n1,1.8\n2,0.2\n";
  run.phantom += fmt::format(", curves: {{file: {}, solids: [water], step_s: 0.1}}", (folder / "curve.csv").string());
  run.subsets = "use: framing, frames_of_events: 5000, subsets: 2, iterations: 6";
  run.update = "use: osem_update";
  run.image = run.frames = "estimate";
  require_success(run.report(folder, "time_s\n0\n"));
  const auto frames = read_nifti_volumes(folder / "out" / "image.nii.gz");
  const auto times = read_frame_times(folder / "out" / "image.nii.gz", frames.size());
  REQUIRE(times);
  const TimeFunction curve({0, 1, 2}, {0.2, 1.8, 0.2});
  double decays = 0;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    CAPTURE(f);
    const double start_s = times->start_s[f], end_s = start_s + times->duration_s[f];
    if (f > 0) CHECK(start_s == approx(times->start_s[f - 1] + times->duration_s[f - 1]));
    if (f + 1 == frames.size()) CHECK(end_s == approx(2).epsilon(1e-6));
    CHECK(mean_in_middle(frames[f]) ==
          approx(100 * curve.mean(start_s, end_s)).epsilon(0.2));  // 5000 events make noise
    decays += mean_in_middle(frames[f]) * times->duration_s[f];
  }
  CHECK(decays == approx(200 * curve.mean(0, 2)).epsilon(0.05));
}

TEST_CASE("parametric images refuse what they cannot be made of") {
  ParametricRun run;
  run.subsets = "use: framing, frames: [0.5, 1, 0.5], subsets: 1";
  CHECK(run.error().find("set together: true of framing") != std::string::npos);
  run = {};
  run.update = "use: osem_update";
  run.image = run.frames = "estimate";
  CHECK(run.error().find("take parametric_update, or framing with together: false") != std::string::npos);
  run = {};
  run.update = "use: parametric_update";
  CHECK(run.error().find("give input, the activity of plasma, for K_i and V, or functions, a table") !=
        std::string::npos);
  run = {};
  CHECK(run.error("time_s,f1\n0,1\n1.2,1\n").find("ends at 1.2 s, before frame 2 does, at 1.5 s") != std::string::npos);
  CHECK(run.error("time_s,f1,f2\n0,1,0\n2,1,0\n").find("function 2 is 0 in all frames") != std::string::npos);
  run.subsets = "use: framing, frames: [0.5, 3-4, 5-6], together: true, start: previous";
  CHECK(run.error().find("start: previous is of frames that follow one another") != std::string::npos);
  run = {};
  run.phantom += ", curves: {file: functions.csv, solids: [brain]}";
  CHECK(run.error().find("no solid with an activity is called 'brain'; there are: ") != std::string::npos);
  run.phantom = "phantom: uniform_cylinder, activity_scale: 0.003, curves: {file: functions.csv, solids: [a, b]}";
  CHECK(run.error().find("has 1 functions for 2 solids") != std::string::npos);
  run.phantom = "phantom: uniform_cylinder, activity_scale: 0.003, curves: {file: functions.csv, solids: [water]}";
  CHECK(run.error("time_s,f1\n0,1\n1.2,1\n").find("ends at 1.2 s, before the scan does, at 2 s") != std::string::npos);
  run.phantom =
      "phantom: uniform_cylinder, activity_scale: 0.003, curves: {file: functions.csv, solids: [water, water]}";
  CHECK(run.error("time_s,f1,f2\n0,1,1\n2,1,1\n").find("solid 'water' is named twice") != std::string::npos);
  run = {};
  run.update += ", image: {size: [4, 4, 4], voxel_mm: 50, basis: blobs}";
  CHECK(run.error().find("parametric images are of voxels, not of blobs") != std::string::npos);
  run = {};
  run.update = "use: parametric_update, input: functions.csv, start_s: 1";
  CHECK(run.error("time_s,value\n0,1\n2,1\n").find("frame 1 begins at 0 s, before start_s (1 s)") != std::string::npos);
}

TEST_CASE("a direct reconstruction that was killed goes on from its coefficients, to the last bit") {
  const TemporaryFolder undisturbed, killed, resumed;
  const RunReport whole = with_checkpoint().report(undisturbed, two_functions);
  require_success(whole);
  ParametricRun run;
  std::int64_t left = 0;  // frames' subsets that are projected again
  SUBCASE("in the middle of an update") {
    run = resumed_after(9, killed);
    left = 12;
  }
  SUBCASE("in the last pass") {
    run = resumed_after(18, killed);
    left = 3;
  }
  SUBCASE("after the last update, before anything was written") {
    require_success(with_checkpoint().report(killed, two_functions));
    run = with_checkpoint();
    run.resume_from = killed / "out";
  }
  const RunReport again = run.report(resumed, two_functions);
  require_success(again);
  const auto& projected = std::ranges::find(again.gadgets, "projected", &GadgetReport::name)->figures;
  CHECK((projected.contains("updates_projected") ? std::get<std::int64_t>(projected.at("updates_projected")) : 0) ==
        left);
  for (const char* file : {"f1.nii.gz", "f2.nii.gz"})
    CHECK(read_nifti(resumed / "out" / file).voxels.to_vector() ==
          read_nifti(undisturbed / "out" / file).voxels.to_vector());
  const auto frames = read_nifti_volumes(resumed / "out" / "image.nii.gz"),
             expected = read_nifti_volumes(undisturbed / "out" / "image.nii.gz");
  REQUIRE(frames.size() == 3);
  for (std::size_t f = 0; f < 3; ++f) CHECK(frames[f].voxels.to_vector() == expected[f].voxels.to_vector());
  CHECK(again.books.reconstructed == whole.books.reconstructed);
  CHECK(again.books.rejected == whole.books.rejected);
}

TEST_CASE("a checkpoint of other parametric images is refused") {
  const TemporaryFolder killed;
  const ParametricRun whole = resumed_after(9, killed);
  ParametricRun run = whole;
  const auto refused = [&run](const std::string& words, const char* table = two_functions) {
    const std::string error = run.error(table);
    CHECK_MESSAGE(error.find(words) != std::string::npos, error);
  };
  refused("does not have coefficients of 1 functions", "time_s,f1\n0,1\n2,1\n");
  refused("is of other frames or functions of time, as frame 1 of 3 shows", "time_s,f1,f2\n0,1,0.5\n2,1,2\n");
  run.subsets = "use: framing, frames: [0.5, 0.5], together: true, subsets: 2, order: random, iterations: 3";
  refused("resume_from: the checkpoint is of update 2 in iteration 1, and here so far there are ");
  run.subsets = "use: framing, frames: [0.5, 1, 0.5], together: true, subsets: 1, iterations: 3";
  refused("the checkpoint is of update 2 in iteration 1, and here that is one of iteration 2");
  run = whole;
  run.subsets += ", resume_from: ''";
  refused("the first subset is of update 1, and these images are of update 2: set resume_from of this gadget and of");
  run = whole;
  run.update += ", image: {size: [20, 20, 4], voxel_mm: 14}";
  refused("belongs to other images than `image` describes");
  run = whole;
  run.subsets = "use: framing, frames: [0.5, 1, 0.5], subsets: 2, iterations: 3";
  refused("is of a run without frames, and this one has some");
  run = with_checkpoint();
  run.more = "  checkpoint: {use: checkpoint_writer, from: estimate.frames}";
  refused("let the checkpoint read `coefficients` of parametric_update");
}
// SPDX-License-Identifier: Apache-2.0
