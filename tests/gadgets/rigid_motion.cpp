// An object that moves as a whole: tables of poses, events that are taken along with it, and images that are as sharp,
// and as flat over two positions of the bed, as those of a scan in which nothing moved.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/cut_in_time.hpp"
#include "gadgets/io/motion/pose_table.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/rigid_pose.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/timed_events.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

std::string refusal_of_table(const std::string& text) {
  const TemporaryFolder folder;
  write(folder / "t.csv", text);
  try {
    formats::read_pose_table(folder / "t.csv");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

constexpr const char* quaternions = "time_s,qw,qx,qy,qz,tx_mm,ty_mm,tz_mm\n";

struct Moved {
  std::vector<std::shared_ptr<const EventBatch>> batches;
  BookEntries books;
  std::map<std::string, Figure> figures;
};

/// 1000 events over each second from 0 to 10 s.
Moved moved_by(const std::string& table, const std::string& parameters) {
  const TemporaryFolder folder;
  write(folder / "t.csv", table);
  RegisteredGadgetTest<EventBatch> gadget("rigid_motion",
                                          fmt::format("{{file: {}, {}}}", (folder / "t.csv").string(), parameters));
  for (int second = 0; second < 10; ++second) gadget.send(timed_events(1000, second, 1));
  gadget.finish();
  return {gadget.out.all(), gadget.context.recorded(), gadget.context.figures()};
}

/// The mean of an image within `radius_mm` of a point.
double mean_at(const Image& image, Vec3d centre_mm, double radius_mm) {
  double sum = 0, voxels = 0;
  const Grid& grid = image.grid;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3d at = grid.centre(i, j, k).as<double>();
        if (norm(at - centre_mm) > radius_mm) continue;
        sum += static_cast<double>(image.voxels[grid.index(i, j, k)]);
        ++voxels;
      }
  return sum / voxels;
}

/// The image of a simulated scan. `phantom`: a file; `motion`: of the simulator, and `corrected` of the events.
Image scan(const std::filesystem::path& folder, const std::string& name, const std::string& phantom,
           const std::string& motion, bool corrected, const std::string& image, double seconds) {
  const std::string motion_file = (folder / "motion.csv").string();
  write(folder / "motion.csv", motion.empty() ? std::string(quaternions) + "0,1,0,0,0,0,0,0\n" : motion);
  write(folder / "phantom.yaml", phantom);
  const std::string yaml = fmt::format(
      R"(
scanner: demo_ring
backend: cpu
image: {}
gadgets:
  photons: {{use: simulator, phantom: {}, seconds: {}, batch_events: 20000, attenuation: false, motion: {{file: {}}}}}
{}
  sorted: {{use: tof_partition, from: {}}}
  subsets: {{use: subset_builder, from: sorted, subsets: 4, cut: interleaved, iterations: 4, reference_s: 1}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}, sensitivity: {{exact_pairs: 0,
    sampled_pairs: 1000000, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
  file: {{use: nifti_writer, from: estimate}}
)",
      image, (folder / "phantom.yaml").string(), seconds, motion_file,
      corrected ? fmt::format("  placed: {{use: rigid_motion, from: photons, file: {}, maps: object_to_scanner}}",
                              motion_file)
                : "",
      corrected ? "placed" : "photons");
  const RunReport report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / name}).run();
  REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? std::string() : report.errors.front().text()));
  return read_nifti(folder / name / "image.nii.gz");
}

}  // namespace

TEST_CASE("poses are read from matrices and from quaternions, whatever the columns' order") {
  const TemporaryFolder folder;
  write(folder / "m.csv",
        "# of a registration\nm00,m01,m02,m03,m10,m11,m12,m13,m20,m21,m22,m23,time_s,quality\n"
        "0,-1,0,10,1,0,0,20,0,0,1,30,0.5,good\n1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1e1, bad\n");
  write(folder / "q.csv", "tz_mm,time_s,qw,qx,qy,qz,tx_mm,ty_mm\n30,-2,0.70710678,0,0,0.70710678,10,20\n");
  const auto matrices = formats::read_pose_table(folder / "m.csv"), turns = formats::read_pose_table(folder / "q.csv");
  REQUIRE(matrices.size() == 2);
  CHECK(matrices[0].time_s == 0.5);
  CHECK(matrices[1].pose == RigidPose{});
  REQUIRE(turns.size() == 1);
  CHECK(turns[0].time_s == -2);
  CHECK(largest_distance_mm(matrices[0].pose, turns[0].pose, {500, 500, 500}) < 1e-4);
}

TEST_CASE("tables that are none are refused with their line") {
  const std::string one = quaternions;
  CHECK(refusal_of_table(one).find("t.csv: the table of poses has no row") != std::string::npos);
  CHECK(refusal_of_table("").find("table of poses: ") == 0);
  CHECK(refusal_of_table("time_s,m00\n0,1\n").find("t.csv: there is no column m01") != std::string::npos);
  CHECK(refusal_of_table("qw,qx,qy,qz,tx_mm,ty_mm,tz_mm\n1,0,0,0,0,0,0\n").find("no column time_s") !=
        std::string::npos);
  CHECK(refusal_of_table(one + "0,1,0,0,0,0,0,0\n0,1,0,0,0,0,0,0\n").find("line 3: time_s is 0 after 0") !=
        std::string::npos);
  CHECK(refusal_of_table(one + "0,0,0,0,0,0,0,0\n").find("line 2: the quaternion has no length") != std::string::npos);
  for (const char* row : {"0,one,0,0,0,0,0,0\n", "0,,0,0,0,0,0,0\n", "0,nan,0,0,0,0,0,0\n", "0,1x,0,0,0,0,0,0\n"}) {
    CAPTURE(std::string(row));
    CHECK(refusal_of_table(one + row).find("t.csv: line 2: qw is '") != std::string::npos);
  }
  for (const char* row : {"0,1,0,0,0,0,0\n", "0,1,0,0,0,0,0,0,9\n", "0,\"1,0,0,0,0,0,0\n"}) {
    const std::string said = refusal_of_table(one + row);
    CAPTURE(said);
    CHECK(said.starts_with("table of poses: "));
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.find("t.csv") != std::string::npos);
  }
}

TEST_CASE("a timeline holds each pose until the next, joins those that hardly differ, and knows its gaps") {
  std::vector<formats::TimedPose> rows;
  for (const auto& [time_s, x] : std::vector<std::pair<double, double>>{{1, 0}, {2, 0.2}, {3, 5}, {4, 0.1}})
    rows.push_back({time_s, RigidPose{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {x, 0, 0}}});
  const PoseTimeline timeline(rows, PoseMaps::scanner_to_object, {.tolerance_mm = 0.3, .box_mm = {100, 100, 100}});
  CHECK(timeline.poses().size() == 2);
  CHECK(timeline.changes(0, 9) == std::vector<double>{1, 3, 4});
  CHECK(timeline.changes(1, 3).empty());
  CHECK(!timeline.at(0).pose);
  CHECK(timeline.at(1).pose == 0);
  CHECK(timeline.at(2.5).end_s == 3);
  CHECK(timeline.at(3).pose == 1);
  CHECK(timeline.at(50).pose == 0);
  CHECK(timeline.nearest(-5) == 0);
  const PoseTimeline brief(rows, PoseMaps::object_to_scanner,
                           {.longest_s = 0.5, .tolerance_mm = 0, .box_mm = {100, 100, 100}});
  CHECK(brief.poses().size() == 4);
  CHECK(brief.poses()[2].shift_mm[0] == -5);
  CHECK(!brief.at(3.6).pose);
  CHECK(brief.nearest(3.6) == 2);
  CHECK(brief.nearest(100) == 3);
}

TEST_CASE("batches are cut where the pose changes, and each piece has its detectors there") {
  const Moved all = moved_by(std::string(quaternions) + "0,1,0,0,0,0,0,0\n2.5,1,0,0,0,0,0,30\n7,1,0,0,0,0,0,0\n",
                             "maps: scanner_to_object");
  REQUIRE(all.batches.size() == 11);
  std::int64_t events = 0;
  for (const auto& batch : all.batches) {
    REQUIRE(batch->pose);
    events += batch->count;
    const double shift = batch->pose->shift_mm[2];
    CHECK(shift == (batch->start_s >= 2.5 && batch->start_s < 7 ? 30 : 0));
    CHECK(batch->detectors->position(3).z - batch->scanner->detectors->position(3).z == approx(shift));
  }
  CHECK(events == 10000);
  CHECK(all.batches[2]->duration_s == approx(0.5));
  CHECK(all.batches[2]->count == 500);
  CHECK(all.batches[0]->detectors == all.batches[10]->detectors);
  CHECK(std::get<std::int64_t>(all.figures.at("poses")) == 2);
  CHECK(std::get<double>(all.figures.at("farthest_mm")) == approx(30));
}

TEST_CASE("time without a pose ends the run, keeps the pose before, or goes with its events") {
  const std::string late = std::string(quaternions) + "4,1,0,0,0,0,0,30\n";
  CHECK_THROWS_WITH(moved_by(late, "maps: object_to_scanner"),
                    doctest::Contains("no pose is known for 0 to 1 s, of which there are events: complete the table"));
  const Moved held = moved_by(late, "maps: object_to_scanner, gaps: hold");
  CHECK(held.batches.size() == 10);
  CHECK(held.batches[0]->pose->shift_mm[2] == -30);
  CHECK(std::get<double>(held.figures.at("without_pose_s")) == approx(4));
  const Moved dropped = moved_by(late, "maps: object_to_scanner, gaps: drop, longest_s: 2");
  CHECK(dropped.batches.size() == 2);
  CHECK(dropped.books.rejected.at("of a time without a pose") == 8000);
}

TEST_CASE("delayeds stay in the scanner's frame, and go with the time that is dropped") {
  const TemporaryFolder folder;
  write(folder / "t.csv", std::string(quaternions) + "4,1,0,0,0,0,0,30\n");
  for (const bool drops : {false, true}) {
    RegisteredGadgetTest<EventBatch> gadget(
        "rigid_motion", fmt::format("{{file: {}, maps: object_to_scanner, gaps: {}}}", (folder / "t.csv").string(),
                                    drops ? "drop" : "hold"));
    EventBatch delayeds = timed_events(1000, 0, 10);
    delayeds.delayed = true;
    gadget.send(std::move(delayeds));
    gadget.finish();
    REQUIRE(gadget.out.all().size() == 1);
    const EventBatch& left = *gadget.out.pointer(0);
    CHECK(!left.pose);
    CHECK(left.detectors == left.scanner->detectors);
    CHECK(left.count == (drops ? 600 : 1000));
    CHECK(left.duration_s == approx(drops ? 6 : 10));
  }
}

TEST_CASE("what cannot be moved, and what knows nothing of movement, says so") {
  const TemporaryFolder folder;
  write(folder / "t.csv", std::string(quaternions) + "0,1,0,0,0,0,0,30\n");
  const std::string parameters = fmt::format("{{file: {}, maps: object_to_scanner}}", (folder / "t.csv").string());
  const auto error_of = [&](EventBatch batch) -> std::string {
    RegisteredGadgetTest<EventBatch> gadget("rigid_motion", parameters);
    try {
      gadget.send(std::move(batch));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "none";
  };
  EventBatch batch = timed_events(10, 0, 1);
  CHECK(error_of(timed_events(10, 0, 1)) == "none");
  CHECK(error_of(timed_events(10, 0, 0)).find("state no scan time") != std::string::npos);
  batch.axis_begin[3] = 10;
  CHECK(error_of(std::move(batch)).find("put rigid_motion before tof_partition") != std::string::npos);
  batch = timed_events(10, 0, 1);
  batch.pose = std::make_shared<const RigidPose>();
  CHECK(error_of(std::move(batch)).find("were moved before") != std::string::npos);
  batch = timed_events(10, 0, 1);
  batch.detectors = nullptr;
  CHECK(error_of(std::move(batch)).find("do not name detectors") != std::string::npos);
  batch = timed_events(10, 0, 1);
  Quantity attenuated;
  attenuated[Correction::attenuation] = {CorrectionState::made, "mu"};
  batch.quantity = std::make_shared<const Quantity>(attenuated);
  batch.multiplicative = Buffer<float>::from(std::vector<float>(10, 0.5f));
  CHECK(error_of(std::move(batch)).find("put rigid_motion before event_corrections") != std::string::npos);
  batch = timed_events(10, 0, 1);  // as event_corrections says it
  attenuated[Correction::attenuation] = {CorrectionState::called_for, ""};
  attenuated.attenuated_by = {.gadget = "corrected", .mu_map = "mu.nii.gz"};
  batch.quantity = std::make_shared<const Quantity>(attenuated);
  batch.multiplicative = Buffer<float>::from(std::vector<float>(10, 0.5f));
  CHECK(error_of(std::move(batch)).find("put rigid_motion before event_corrections") != std::string::npos);
  batch = timed_events(10, 0, 1);
  batch.pose = std::make_shared<const RigidPose>();
  RegisteredGadgetTest<void> writer("castor_writer", "{}", folder.path());
  const auto moved = std::make_shared<const EventBatch>(std::move(batch));
  CHECK_THROWS_WITH(writer.send(moved, std::shared_ptr<const EventBatch>()),
                    doctest::Contains("of which castor_writer knows nothing"));
}

TEST_CASE("a sphere that turns and shifts with its cylinder keeps its contrast where its poses are known") {
  const TemporaryFolder folder;
  const std::string phantom = R"(
name: head
solids:
  - {name: brain, shape: cylinder, radius_mm: 90, length_mm: 100, activity_Bq_mL: 300}
  - {name: lesion, shape: ellipsoid, centre_mm: [55, 20, 5], half_axes_mm: [15, 15, 15], activity_Bq_mL: 2400}
)";
  // Ten degrees and 10 mm, in five steps.
  std::string motion = quaternions;
  for (int step = 0; step < 5; ++step) {
    const double half = 0.5 * 2.5 * step * 3.14159265358979 / 180;
    motion += fmt::format("{},{},0,0,{},{},0,{}\n", 2 * step, std::cos(half), std::sin(half), 2.5 * step, -1.5 * step);
  }
  const std::string image = "{size: [26, 26, 16], voxel_mm: [8, 8, 8]}";
  const Vec3d lesion{55, 20, 5}, opposite{-55, -20, 5};
  const auto contrast = [&](const Image& made) { return mean_at(made, lesion, 9) / mean_at(made, opposite, 20); };
  const Image still = scan(folder.path(), "still", phantom, "", false, image, 10),
              corrected = scan(folder.path(), "corrected", phantom, motion, true, image, 10),
              blurred = scan(folder.path(), "blurred", phantom, motion, false, image, 10);
  MESSAGE(fmt::format("contrast {:.2f} still, {:.2f} with the poses, {:.2f} without", contrast(still),
                      contrast(corrected), contrast(blurred)));
  CHECK(contrast(corrected) == approx(contrast(still)).epsilon(0.06));
  CHECK(contrast(blurred) < 0.85 * contrast(still));
  CHECK(mean_at(corrected, opposite, 30) == approx(mean_at(still, opposite, 30)).epsilon(0.03));
}

TEST_CASE("two positions of the bed are one image, as flat as the cylinder that they show") {
  const TemporaryFolder folder;
  const std::string phantom = R"(
name: long
solids:
  - {name: rod, shape: cylinder, radius_mm: 60, length_mm: 400, activity_Bq_mL: 500}
)";
  // The scanner is 145 mm long; the bed moves by two thirds of that.
  const std::string motion = std::string(quaternions) + "0,1,0,0,0,0,0,-48\n10,1,0,0,0,0,0,48\n";
  const Image image =
      scan(folder.path(), "bed", phantom, motion, true, "{size: [18, 18, 26], voxel_mm: [10, 10, 9]}", 20);
  const auto slice = [&](double z_mm) { return mean_at(image, {0, 0, z_mm}, 40); };
  const double middle = slice(0);
  for (const double z_mm : {-72, -48, -24, 24, 48, 72}) {
    CAPTURE(z_mm);
    CHECK(slice(z_mm) == approx(middle).epsilon(0.04));
  }
  CHECK(middle == approx(500).epsilon(0.04));
}
// SPDX-License-Identifier: Apache-2.0
