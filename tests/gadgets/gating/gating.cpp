// Gates: each event is in one of them or booked, times add up, a gate is a reconstruction of its own.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/gating/petsird_signal.hpp"
#include "gadgets/io/motion/signal_table.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/numbered_events.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/displacement_file.hpp"

using namespace tofstream;
using tofstream::testing::numbers;

namespace {

std::string written(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
  return file.string();
}

struct Gated {
  std::vector<std::shared_ptr<const EventSubset>> subsets;
  BookEntries books;
  std::map<std::string, Figure> figures;
  std::vector<double> list(const std::string& name) const { return std::get<std::vector<double>>(figures.at(name)); }
};

/// 200 events over 20 s, ten a second.
Gated gated(const std::string& table, const std::string& parameters, int batch_size = 2) {
  const TemporaryFolder folder;
  RegisteredGadgetTest<EventSubset> gadget("gating",
                                           fmt::format("{{backend: cpu, signal: table, file: {}, least_events: 0, {}}}",
                                                       written(folder / "t.csv", table), parameters));
  for (int first = 0; first < 200; first += batch_size)
    gadget.send(testing::numbered_batch(first, batch_size, 0.1 * first, 0.1 * batch_size));
  gadget.finish();
  return {gadget.out.all(), gadget.context.recorded(), gadget.context.figures()};
}

constexpr const char* every_4_s = "time_s\n0\n4\n8\n12\n16\n20\n";

}  // namespace

TEST_CASE("events and seconds of the gates add up to the scan's, each event in its gate, whatever the batches") {
  for (const int batch_size : {1, 2, 5}) {
    CAPTURE(batch_size);
    const Gated made = gated(every_4_s, "by: phase, gates: 4, subsets: 2, iterations: 2", batch_size);
    CHECK(made.list("gate_events") == std::vector<double>{50, 50, 50, 50});
    for (const double seconds : made.list("gate_s")) CHECK(seconds == approx(5));
    REQUIRE(made.subsets.size() == 4 * 4 + 3);  // with a restart between two gates
    std::vector<int> all;
    std::int64_t update = 0;
    for (const auto& subset : made.subsets) {
      const UpdateStep& step = subset->step;
      CHECK(step.update == ++update);
      if (step.restart) continue;
      CHECK(step.frame.number == step.gate);
      CHECK(step.frame.duration_s == approx(5));
      CHECK(step.last == (step.gate == 4 && step.iteration == 2 && step.subset == 1));
      if (step.iteration == 2) continue;
      CHECK(subset->time_fraction == approx(2.5));
      for (const int number : numbers(*subset)) {
        CHECK(number % 40 / 10 + 1 == step.gate);
        all.push_back(number);
      }
    }
    CHECK(all.size() == 200);
    CHECK(made.books.rejected_total() == 0);
  }
}

TEST_CASE("time outside the signal is in no gate, and its events are booked") {
  const Gated made = gated("time_s\n4\n8\n20\n", "by: phase, gates: 2, longest_cycle_s: 5, subsets: 1");
  CHECK(made.list("gate_events") == std::vector<double>{20, 20});
  CHECK(std::get<double>(made.figures.at("without_gate_s")) == approx(16));
  CHECK(made.books.rejected.at("in no gate") == 160);
}

TEST_CASE("where a table's signal pauses its events are in no gate, and a warning says so") {
  const std::string table = "time_s,value\n0,0\n1,10\n2,0\n3,10\n4,0\n16,0\n17,10\n18,0\n19,10\n20,0\n";
  const Gated made = gated(table, "gates: 2, subsets: 1");
  CHECK(made.list("gate_events") == std::vector<double>{40, 40});
  CHECK(made.books.rejected.at("in no gate") == 120);
  const Gated triggered = gated("time_s\n0\n1\n2\n3\n4\n18\n19\n20\n", "by: phase, gates: 2, subsets: 1");
  CHECK(triggered.list("gate_events") == std::vector<double>{30, 30});
  CHECK(triggered.books.rejected.at("in no gate") == 140);
  const Gated joined = gated(table, "gates: 2, subsets: 1, longest_step_s: 30, bounds: equal_amplitude");
  CHECK(joined.list("gate_events") == std::vector<double>{160, 40});
}

TEST_CASE("by amplitude, a gate has the events of one state from all cycles") {
  const Gated made = gated("time_s,value\n0,0\n5,10\n10,0\n15,10\n20,0\n", "gates: 2, subsets: 1");
  REQUIRE(made.subsets.size() == 3);
  for (const int number : numbers(*made.subsets[0])) {
    const int within = number % 100;
    CHECK((within < 25 || within >= 75));
  }
  CHECK(made.list("gate_events") == std::vector<double>{100, 100});
}

TEST_CASE("for one image the subsets of all gates take turns, and each says the times of all") {
  const Gated made = gated("time_s\n0\n10\n20\n", "by: phase, gates: 2, subsets: 2, images: one, iterations: 2");
  REQUIRE(made.subsets.size() == 8);
  for (std::size_t s = 0; s < 8; ++s) {
    const EventSubset& subset = *made.subsets[s];
    CHECK(subset.step.gate == static_cast<int>(s % 2) + 1);
    CHECK(subset.step.frame.number == 0);
    CHECK(subset.step.subsets == 4);
    REQUIRE(subset.gate_times);
    for (const double time : *subset.gate_times) CHECK(time == approx(10));
  }
  CHECK(made.subsets.back()->step.last);
  const Gated whole = gated("time_s\n0\n10\n20\n", "by: phase, gates: 2, subsets: 2, images: one, reference_s: 0");
  CHECK(whole.subsets[0]->time_fraction == approx(0.25));
  CHECK((*whole.subsets[0]->gate_times)[1] == approx(0.5));
}

TEST_CASE("signals and gates that cannot be are one error with the file, before the scan or at its end") {
  const auto refused = [](const std::string& table, const std::string& parameters, const std::string& words) {
    CAPTURE(table);
    CHECK_THROWS_WITH(gated(table, parameters), doctest::Contains(words.c_str()));
  };
  refused("value\n1\n", "gates: 2", "t.csv: there is no column time_s");
  refused("time_s,value\n0,1\n1,x\n", "gates: 2", "t.csv: line 3: value is 'x', which is no number");
  refused("time_s,value\n1,1\n0,2\n", "gates: 2", "t.csv: line 3: time_s is 0 after 1: times must ascend");
  refused("time_s,value\n", "gates: 2", "t.csv: the table has no row");
  refused("time_s,value\n0,1\n20,1\n", "gates: 2", "t.csv: the signal is 1 all the time");
  refused("time_s\n0\n", "gates: 2, by: phase", "t.csv: there are fewer than two triggers");
  refused(every_4_s, "gates: 2", "the signal has triggers and no values: say by: phase");
  refused("time_s\n30\n40\n", "gates: 2, by: phase", "gate 1 of 2 has no event: ask for fewer gates");
  refused("time_s\n0\n0.4\n", "gates: 20, by: phase", "of 20 has no event: ask for fewer gates");
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventSubset>("gating", "{backend: cpu, signal: table}"),
                    doctest::Contains("file: say which file has the signal"));
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventSubset>("gating", "{backend: cpu, file: /dev/null}"),
                    doctest::Contains("signal: data takes no file"));
  RegisteredGadgetTest<EventSubset> gadget("gating", "{backend: cpu, gates: 2}");
  EventBatch timeless = testing::numbered_batch(0, 50, 0, 0);
  CHECK_THROWS_WITH(gadget.send(std::move(timeless)), doctest::Contains("nobody knows which gate"));
}

namespace {

constexpr double period_s = 2, swing_mm = 12, voxel_mm = 5;

double shift_mm(double time_s) {
  return swing_mm * (0.5 - 0.5 * std::cos(2 * std::numbers::pi * time_s / period_s));
}

/// One place after the other, each for a second: whole voxels apart.
double step_mm(double time_s) {
  return voxel_mm * std::floor(time_s);
}

// Along z, in steps of a twentieth of a second.
std::string motion_table(double (*shift)(double), double seconds) {
  std::string table = "time_s,qw,qx,qy,qz,tx_mm,ty_mm,tz_mm\n";
  for (int i = 0; i < static_cast<int>(20 * seconds); ++i)
    table += fmt::format("{},1,0,0,0,0,0,{}\n", 0.05 * i, shift(0.05 * i + 0.025));
  return table;
}

constexpr auto* lesion_phantom = R"(
name: lesion
description: A warm cylinder with a hot ball
solids:
  - {name: warm, shape: cylinder, radius_mm: 60, length_mm: 70, activity_Bq_mL: 20000}
  - {name: hot, shape: sphere, centre_mm: [20, 0, 0], diameter_mm: 24, activity_Bq_mL: 160000}
)";

struct BreathingRun {
  std::string subsets;
  bool moves = true;
  double (*shift)(double) = shift_mm;  // in mm, at a time
  std::string between = {};            // gadgets behind the estimate
  std::string image = "estimate";
  double seconds = 6, activity = 0.15;
  std::string update = "use: osem_update";
};

std::map<std::string, GadgetReport> breathe(const std::filesystem::path& folder, const BreathingRun& run) {
  const std::string motion = written(folder / "motion.csv", motion_table(run.shift, run.seconds));
  const std::string phantom = written(folder / "phantom.yaml", lesion_phantom);
  const std::string yaml = fmt::format(
      R"(
scanner: demo_ring
backend: cpu
image: {{size: [36, 36, 30], voxel_mm: {}}}
gadgets:
  photons: {{use: simulator, phantom: {}, seconds: {}, activity_scale: {}, batch_events: 2000, attenuation: false{}}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{{}, from: sorted}}
{}
  projected: {{use: joseph_projector, from: {{events: subsets, image: {}}}, sensitivity: {{exact_pairs: 0,
    sampled_pairs: 300000, cache: false}}}}
  estimate: {{{}, from: projected}}
  file: {{use: nifti_writer, from: estimate}}
)",
      voxel_mm, phantom, run.seconds, run.activity, run.moves ? fmt::format(", motion: {{file: {}}}", motion) : "",
      run.subsets, run.between, run.image, run.update);
  const RunReport report =
      Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / "run", .earlier_run = EarlierRun::overwrite})
          .run();
  REQUIRE_MESSAGE(report.exit_code == 0,
                  (report.errors.empty() ? "the books do not balance" : report.errors[0].text()));
  CHECK(report.books.balanced());
  std::map<std::string, GadgetReport> gadgets;
  for (const GadgetReport& gadget : report.gadgets) gadgets[gadget.name] = gadget;
  return gadgets;
}

double mean_in_ball(const Image& image, Vec3d centre_mm, double radius_mm) {
  double sum = 0, voxels = 0;
  const Grid& grid = image.grid;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        if (norm(grid.centre(i, j, k).as<double>() - centre_mm) > radius_mm) continue;
        sum += static_cast<double>(image.voxels[grid.index(i, j, k)]);
        ++voxels;
      }
  return sum / voxels;
}

double lesion_contrast(const Image& image, double z_mm = 0) {
  return mean_in_ball(image, {20, 0, z_mm}, 10) / mean_in_ball(image, {-25, 0, z_mm}, 18);
}

/// A file that says that everything is moved along z.
std::string shift_field(const std::filesystem::path& file, double mm) {
  DisplacementFile{.dims = {5, 2, 2, 2, 1, 3, 1, 1},
                   .voxel_mm = 400,
                   .origin_mm = {-200, -200, -200},
                   .value = [=](std::size_t c, std::size_t) { return c == 2 ? static_cast<float>(mm) : 0.0f; }}
      .write(file);
  return file.string();
}

// Three places, each a gate of a second.
constexpr int steps = 3;

BreathingRun still_run() {
  return {.subsets = fmt::format("use: subset_builder, subsets: {}, cut: interleaved, iterations: 6", steps),
          .moves = false,
          .shift = step_mm,
          .seconds = steps};
}

/// The same scan of what moves, each gate through its warp. By whole voxels: a warp by parts of one widens what is
/// projected, which the image makes up for (share/doc/gates.md).
void through_gates(BreathingRun& run, const std::filesystem::path& folder) {
  std::string signal = "time_s,value\n", fields;
  for (int gate = 0; gate < steps; ++gate) {
    signal += fmt::format("{},{}\n{},{}\n", gate, gate, gate == steps - 1 ? steps : gate + 0.99, gate);
    fields += fmt::format("{}{}", gate == 0 ? "" : ", ",
                          shift_field(folder / fmt::format("u{}.nii", gate), -voxel_mm * gate));
  }
  run.moves = true;
  run.subsets = fmt::format(
      "use: gating, signal: table, file: {}, gates: {}, bounds: equal_amplitude, images: one, subsets: 1, "
      "least_events: 0, iterations: 6",
      written(folder / "signal.csv", signal), steps);
  run.between = fmt::format(
      "  deformed: {{use: gate_warp, from: {{events: subsets, image: estimate}}, frame: lps, fields: [{}]}}\n", fields);
  run.image = "deformed";
}

constexpr const char* gated_by_data =
    "use: gating, gates: 3, bounds: equal_amplitude, subsets: 2, least_events: 0, iterations: 4";

}  // namespace

TEST_CASE("the data show how a phantom breathes, and gates have images of their own that sum to the scan") {
  const TemporaryFolder folder;
  const auto gadgets = breathe(folder.path(), {.subsets = gated_by_data});
  const MotionSignal trace = formats::read_signal_table(folder / "run/trace.csv");
  double product = 0, squares = 0, truths = 0;
  for (std::size_t i = 0; i < trace.time_s.size(); ++i) {
    const double truth = shift_mm(trace.time_s[i]) - 0.5 * swing_mm;
    product += truth * trace.value[i];
    squares += trace.value[i] * trace.value[i];
    truths += truth * truth;
  }
  MESSAGE("correlation with the breathing ", product / std::sqrt(squares * truths));
  CHECK(product / std::sqrt(squares * truths) > 0.9);
  const auto& subsets = gadgets.at("subsets").figures;
  CHECK(std::abs(std::get<std::vector<double>>(subsets.at("trace_direction"))[2]) > 0.95);
  const auto seconds = std::get<std::vector<double>>(subsets.at("gate_s"));
  const double in_gates = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  CHECK(in_gates + std::get<double>(subsets.at("without_gate_s")) == approx(6).epsilon(1e-6));
  const auto images = read_nifti_volumes(folder / "run/image.nii.gz");
  REQUIRE(images.size() == 3);
  // The lowest gate has the ball near its lowest place, the highest near its highest.
  CHECK(lesion_contrast(images[0], 2) > lesion_contrast(images[0], 10));
  CHECK(lesion_contrast(images[2], 10) > lesion_contrast(images[2], 2));
  // Each is the activity, not a part of it.
  for (const Image& image : images) CHECK(mean_in_ball(image, {-25, 0, 5}, 15) == approx(3000).epsilon(0.08));
}

TEST_CASE("one image of all gates, each through its warp, has the contrast of a scan in which nothing moved") {
  const TemporaryFolder folder;
  BreathingRun run = still_run();
  breathe(folder.path(), run);
  const double still = lesion_contrast(read_nifti(folder / "run/image.nii.gz"));
  run.moves = true;
  breathe(folder.path(), run);
  const double blurred = lesion_contrast(read_nifti(folder / "run/image.nii.gz"), voxel_mm);
  through_gates(run, folder.path());
  const auto gadgets = breathe(folder.path(), run);
  const Image compensated = read_nifti(folder / "run/image.nii.gz");
  CAPTURE(still);
  CAPTURE(blurred);
  CHECK(lesion_contrast(compensated) == approx(still).epsilon(0.03));
  CHECK(blurred < 0.9 * still);
  CHECK(mean_in_ball(compensated, {-25, 0, 0}, 15) == approx(3000).epsilon(0.05));
  CHECK_FALSE(gadgets.at("subsets").figures.contains("without_gate_s"));  // with all the counts
}

TEST_CASE("through gates RAMLA, BSREM and SVRG give the contrast that they have in a scan in which nothing moved") {
  const TemporaryFolder folder;
  for (const std::string update :
       {"use: ramla_update", "use: bsrem_update", "use: svrg_update, warm_up: 1, anchor_every: 2"}) {
    CAPTURE(update);
    BreathingRun run = still_run();
    run.activity = 0.05;
    run.update = update;
    breathe(folder.path(), run);
    const double still = lesion_contrast(read_nifti(folder / "run/image.nii.gz"));
    through_gates(run, folder.path());
    breathe(folder.path(), run);
    const Image compensated = read_nifti(folder / "run/image.nii.gz");
    CHECK(lesion_contrast(compensated) == approx(still).epsilon(0.04));
    CHECK(mean_in_ball(compensated, {-25, 0, 0}, 15) == approx(1000).epsilon(0.05));
  }
}

TEST_CASE("a warp for each gate refuses other subsets, and another number of gates") {
  const TemporaryFolder folder;
  RegisteredGadgetTest<Estimate> warp("gate_warp", "{fields: [none, none], frame: lps}");
  const auto image = std::make_shared<const Image>(Image::zeros(Grid::centred(4, 4, 4, {2, 2, 2})));
  const auto estimate = std::make_shared<const Estimate>(Estimate{{.iteration = 1}, image});
  const auto subset = [](int gate, std::vector<double> times) {
    EventSubset made;
    made.step.gate = gate;
    if (gate > 0) made.gate_times = std::make_shared<const std::vector<double>>(std::move(times));
    return std::make_shared<const EventSubset>(std::move(made));
  };
  CHECK_THROWS_WITH(warp.send(subset(0, {}), estimate), doctest::Contains("take them from gating, with images: one"));
  CHECK_THROWS_WITH(warp.send(subset(1, {1, 2, 3}), estimate), doctest::Contains("there are 3 gates and 2 fields"));
  warp.send(subset(2, {1, 3}), estimate);
  REQUIRE(warp.out.size() == 1);
  const Estimate& deformed = warp.out[0];
  REQUIRE(deformed.through.size() == 1);
  CHECK(deformed.through[0].mean);
  CHECK(deformed.through[0].time == 4);
  CHECK_THROWS_WITH(RegisteredGadgetTest<Estimate>("gate_warp", "{fields: [none], frame: lps}"),
                    doctest::Contains("name one for each gate"));
  CHECK_THROWS_WITH(RegisteredGadgetTest<Estimate>("gate_warp", "{fields: [none, nowhere.nii], frame: lps}"),
                    doctest::Contains("nowhere.nii"));
}
// SPDX-License-Identifier: Apache-2.0
