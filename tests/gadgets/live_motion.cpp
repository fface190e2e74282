// Poses that come live: the image of their table, whenever they come; replays and resumed runs that place every event
// as the live run did; what happens to time without a pose; and what is refused.
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/motion/pose_frames.hpp"
#include "gadgets/io/motion/pose_table.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/motion/live_poses.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/live_support.hpp"
#include "tests/gadgets/timed_events.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using formats::PoseForm;
using formats::StatedPose;
using live_test::Bytes;

/// A pose that shifts along z.
StatedPose shifted(double time_s, double z_mm) {
  return {time_s, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, z_mm}};
}

/// A stream's frames as bytes, each with the next number.
class PoseStream {
 public:
  explicit PoseStream(std::uint64_t stream = 7, std::string_view direction = wire::object_to_scanner)
      : stream_(stream) {
    header =
        wire::encode_frame({.kind = wire::FrameKind::stream_header, .schema = wire::pose_header, .stream = stream_},
                           std::as_bytes(std::span(direction)));
  }
  Bytes poses(const std::vector<StatedPose>& rows, PoseForm form = PoseForm::matrix) {
    wire::PoseFrame frame = wire::write_poses(form, rows);
    frame.header.stream = stream_;
    frame.header.sequence = sequence_++;
    wire::seal_frame(frame.header, frame.bytes);
    return frame.bytes;
  }
  Bytes end() const {
    return wire::encode_frame({.kind = wire::FrameKind::end, .stream = stream_, .sequence = sequence_}, {});
  }
  Bytes header;

 private:
  std::uint64_t stream_, sequence_ = 1;
};

std::string pose_error_of(const std::vector<Bytes>& frames) {
  LivePoses poses("tcp://tracker", nullptr);
  for (const Bytes& frame : frames) poses.take(frame, 1);
  try {
    poses.throw_if_failed();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

/// What a batch is, for comparisons bit for bit.
struct PlacedBatch {
  std::int64_t count = 0;
  double start_s = 0, duration_s = 0;
  RigidPose pose;
  friend bool operator==(const PlacedBatch&, const PlacedBatch&) = default;
};

template <class Batches>
std::vector<PlacedBatch> placed_of(const Batches& batches) {
  std::vector<PlacedBatch> all;
  for (const auto& batch : batches)
    all.push_back({batch->count, batch->start_s, batch->duration_s, batch->pose ? *batch->pose : RigidPose{}});
  return all;
}

struct Placing {
  std::vector<PlacedBatch> batches;
  BookEntries books;
  std::map<std::string, Figure> figures;
  std::int64_t figure(const std::string& key) const { return std::get<std::int64_t>(figures.at(key)); }
};

/// Ten batches of one second each, through a gadget.
Placing placing(const std::string& gadget_name, const std::string& parameters, const std::filesystem::path& folder,
                int from = 0, int to = 10) {
  RegisteredGadgetTest<EventBatch> gadget(gadget_name, parameters, folder);
  for (int second = from; second < to; ++second) gadget.send(timed_events(1000, second, 1));
  gadget.finish();
  return {placed_of(gadget.out.all()), gadget.context.recorded(), gadget.context.figures()};
}

std::string live_parameters(const std::filesystem::path& folder, const std::string& more) {
  return fmt::format("{{endpoint: \"ipc://{}\", {}}}", (folder / "poses").string(), more);
}

std::vector<StatedPose> six_rows() {
  return {shifted(0, 0), shifted(1.5, 10), shifted(3.25, 20), shifted(5, 20.1), shifted(6.5, -5), shifted(9, 0)};
}

}  // namespace

TEST_CASE("poses are written and read as frames, whichever form they have") {
  for (const PoseForm form : {PoseForm::matrix, PoseForm::quaternion}) {
    const std::vector<StatedPose> rows =
        form == PoseForm::matrix ? six_rows() : std::vector<StatedPose>{{0.5, {1, 0, 0, 0, 1, 2, 3}}};
    PoseStream stream;
    const Bytes bytes = stream.poses(rows, form);
    const auto read = wire::decode_frame(bytes);
    REQUIRE(std::holds_alternative<wire::Frame>(read));
    CHECK(wire::read_poses(std::get<wire::Frame>(read)) == rows);
  }
  CHECK_THROWS_AS(wire::write_poses(PoseForm::quaternion, six_rows()), std::invalid_argument);
  Bytes cut(wire::header_bytes + 100);
  CHECK_THROWS_WITH(wire::seal_frame({.schema = wire::pose_matrices, .stream = 1, .sequence = 1}, cut),
                    doctest::Contains("no whole number of poses"));
}

TEST_CASE("a timeline that grows row by row is that of the whole table") {
  std::vector<formats::TimedPose> rows;
  for (const StatedPose& row : six_rows())
    rows.push_back({row.time_s, formats::pose_of(PoseForm::matrix, row.numbers)});
  for (const double longest_s : {0.0, 1.2}) {
    const PoseTimelineSettings settings{longest_s, 0.3, {100, 100, 100}};
    const PoseTimeline whole(rows, PoseMaps::object_to_scanner, settings);
    PoseTimeline growing(PoseMaps::object_to_scanner, settings);
    CHECK(!growing.at(4).pose);
    CHECK(!growing.nearest(4));
    for (const auto& row : rows) growing.append(row);
    CHECK(growing.poses() == whole.poses());
    CHECK(growing.changes(-1, 20) == whole.changes(-1, 20));
    for (double time_s = -1; time_s < 12; time_s += 0.25) {
      CAPTURE(time_s);
      CHECK(growing.at(time_s).pose == whole.at(time_s).pose);
      CHECK(growing.nearest(time_s) == whole.nearest(time_s));
    }
  }
}

TEST_CASE("a pose that comes after its time was closed counts from there on, and only the last of several") {
  LivePoses poses("tcp://tracker", nullptr);
  PoseStream stream;
  poses.take(stream.header, 1);
  poses.take(stream.poses({shifted(0, 0), shifted(1, 1)}), 2);
  CHECK(poses.is_settled(1));
  CHECK(!poses.is_settled(1.5));
  CHECK(poses.take_final().size() == 2);
  CHECK(poses.settle(3, LivePoses::Clock::now(), {}));
  CHECK(poses.is_settled(3));
  poses.take(stream.poses({shifted(1.5, 2)}), 3);
  CHECK(poses.take_final().empty());  // it may be replaced
  poses.take(stream.poses({shifted(2, 3), shifted(4, 4)}), 4);
  const auto rows = poses.take_final();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == shifted(3, 3));
  CHECK(rows[1] == shifted(4, 4));
  CHECK(poses.figures().late_poses == 2);
  CHECK(poses.figures().closings == 1);
  poses.take(stream.end(), 5);
  CHECK(poses.is_settled(1e9));
}

TEST_CASE("poses that cannot be are one error that says which") {
  PoseStream stream;
  const Bytes header = stream.header, good = stream.poses({shifted(0, 0), shifted(4, 1)});
  StatedPose mirrored = shifted(6, 0), endless = shifted(5, 0);
  mirrored.numbers[0] = -1;
  endless.numbers[3] = std::nan("");
  CHECK(pose_error_of({header, good, stream.poses({shifted(5, 0), mirrored})})
            .find("poses from tcp://tracker: frame 2, pose 2: the matrix is no rotation") == 0);
  stream = PoseStream();
  stream.poses({shifted(0, 0)});
  CHECK(pose_error_of({header, good, stream.poses({shifted(3, 0)})}) ==
        "poses from tcp://tracker: frame 2, pose 1: time_s is 3 after 4: times must ascend");
  stream = PoseStream();
  stream.poses({shifted(0, 0)});
  CHECK(pose_error_of({header, good, stream.poses({endless})}).find("frame 2, pose 1: a number is not finite") !=
        std::string::npos);
  stream = PoseStream();
  stream.poses({shifted(0, 0)});
  CHECK(pose_error_of({header, good, stream.poses({{5, {1, 0, 0, 0, 0, 0, 0}}}, PoseForm::quaternion)})
            .find("quaternions and matrices in one scan") != std::string::npos);
  CHECK(pose_error_of({header, PoseStream(8, wire::scanner_to_object).header})
            .find("a stream of poses from scanner_to_object follows one from object_to_scanner") != std::string::npos);
  CHECK(pose_error_of({PoseStream(8, "object_from_scanner"sv.substr(0, 17)).header}).find("the header is neither") !=
        std::string::npos);
}

TEST_CASE("frames that are damaged, come twice, or are of something else do no harm and are counted") {
  LivePoses poses("tcp://tracker", nullptr);
  PoseStream stream;
  const Bytes first = stream.poses({shifted(0, 0)});
  Bytes damaged = stream.poses({shifted(1, 0)});
  damaged.back() ^= std::byte{1};
  poses.take(first, 1);  // before the header
  for (const Bytes& frame : {stream.header, first, first, damaged, stream.poses({shifted(2, 0)})}) poses.take(frame, 1);
  for (const Bytes& frame : wire_test::StreamMaker().records(5).end()) poses.take(frame, 1);
  poses.throw_if_failed();
  const auto figures = poses.figures();
  CHECK(figures.poses == 2);
  CHECK(figures.bad_frames == 1);
  CHECK(figures.first_bad.find("CRC32C") != std::string::npos);
  CHECK(figures.missing_frames == 1);
  CHECK(figures.left_out_frames == 4);
  CHECK(!poses.is_settled(3));  // the end was that of another stream
  // A tracker that begins again goes on.
  PoseStream again(9);
  poses.take(again.header, 2);
  poses.take(again.poses({shifted(5, 0)}), 2);
  CHECK(poses.is_settled(5));
}

TEST_CASE("events wait for their poses, and are placed as by the table of these") {
  const TemporaryFolder folder;
  formats::write_pose_table(folder / "t.csv", PoseForm::matrix, six_rows(), "a test");
  const Placing table = placing(
      "rigid_motion", fmt::format("{{file: {}, maps: object_to_scanner, longest_s: 4}}", (folder / "t.csv").string()),
      folder.path());
  const std::jthread tracker([&] {
    PoseStream stream;
    std::vector<Bytes> frames = {stream.header};
    for (const StatedPose& row : six_rows()) frames.push_back(stream.poses({row}));
    frames.push_back(stream.end());
    zmq::context_t context;
    zmq::socket_t socket(context, zmq::socket_type::push);
    socket.connect("ipc://" + (folder / "poses").string());
    for (const Bytes& frame : frames) {
      std::this_thread::sleep_for(20ms);
      socket.send(zmq::buffer(frame));
    }
  });
  const Placing live = placing("live_motion", live_parameters(folder.path(), "longest_s: 4"), folder.path());
  CHECK(live.batches == table.batches);
  CHECK(live.batches.size() > 10);
  CHECK(live.figure("received_poses") == 6);
  CHECK(live.figure("closed_times") == 0);
  CHECK(live.figure("poses") == table.figure("poses"));
  // The table that it leaves is what the tracker said.
  CHECK(formats::read_stated_poses(folder / "poses.csv").rows == six_rows());
}

TEST_CASE("a tracker that falls silent: its time is closed, and a replay and the table place every event alike") {
  const TemporaryFolder folder;
  const std::string gaps = "longest_s: 1, gaps: drop", journal = (folder / "j").string();
  PoseStream stream;
  const Bytes first = stream.poses({shifted(0, 0), shifted(0.5, 10), shifted(2, 20)}),
              late = stream.poses({shifted(4.5, 30)}), last = stream.poses({shifted(7.5, 40), shifted(11, 0)});
  const std::string endpoint = "ipc://" + (folder / "poses").string();
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::push);
  socket.connect(endpoint);
  const auto send = [&](const Bytes& frame) { socket.send(zmq::buffer(frame)); };
  Placing live;
  {
    RegisteredGadgetTest<EventBatch> gadget(
        "live_motion", live_parameters(folder.path(), fmt::format("{}, patience_s: 0.2, journal: {}", gaps, journal)),
        folder.path());
    send(stream.header);
    send(first);
    for (int second = 0; second < 6; ++second) gadget.send(timed_events(1000, second, 1));  // from 2 s on it waits
    send(late);
    send(last);
    for (int second = 6; second < 10; ++second) gadget.send(timed_events(1000, second, 1));
    gadget.finish();
    live = {placed_of(gadget.out.all()), gadget.context.recorded(), gadget.context.figures()};
  }
  CHECK(live.figure("closed_times") == 4);
  CHECK(live.figure("late_poses") == 1);
  // 1.5 to 2 s, 3 to 6 s, 7 to 7.5 s and 8.5 to 10 s: the pose that came late holds from 6 to 7 s.
  CHECK(live.books.rejected.at("of a time without a pose") == 5500);
  const Placing again = placing(
      "live_motion", fmt::format("{{{}, journal: {}, replay: true, file: again.csv}}", gaps, journal), folder.path());
  CHECK(again.batches == live.batches);
  CHECK(again.books.rejected == live.books.rejected);
  const Placing table = placing(
      "rigid_motion", fmt::format("{{file: {}, maps: object_to_scanner, {}}}", (folder / "poses.csv").string(), gaps),
      folder.path());
  CHECK(table.batches == live.batches);
  CHECK(text_of(folder / "again.csv") == text_of(folder / "poses.csv"));
}

TEST_CASE("a run that was killed goes on with the poses of its journal") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "poses").string(), journal = (folder / "j").string();
  formats::write_pose_table(folder / "t.csv", PoseForm::matrix, six_rows(), "a test");
  const auto rows = six_rows();
  PoseStream stream;
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::push);
  socket.connect(endpoint);
  socket.send(zmq::buffer(stream.header));
  const auto send = [&](std::size_t begin, std::size_t end) {
    socket.send(zmq::buffer(stream.poses(
        {rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end)})));
  };
  const std::string parameters = fmt::format("longest_s: 4, journal: {}", journal);
  {
    RegisteredGadgetTest<EventBatch> gadget("live_motion", live_parameters(folder.path(), parameters), folder.path());
    send(0, 4);
    for (int second = 0; second < 5; ++second) gadget.send(timed_events(1000, second, 1));
  }
  CHECK_THROWS_WITH(placing("live_motion", live_parameters(folder.path(), parameters), folder.path()),
                    doctest::Contains("continue it with resume"));
  RegisteredGadgetTest<EventBatch> gadget("live_motion", live_parameters(folder.path(), parameters + ", resume: true"),
                                          folder.path());
  send(4, 6);
  socket.send(zmq::buffer(stream.end()));
  for (int second = 0; second < 10; ++second) gadget.send(timed_events(1000, second, 1));
  gadget.finish();
  const Placing table = placing(
      "rigid_motion", fmt::format("{{file: {}, maps: object_to_scanner, longest_s: 4}}", (folder / "t.csv").string()),
      folder.path());
  CHECK(placed_of(gadget.out.all()) == table.batches);
}

TEST_CASE("time without a pose ends a live run with one error, and so does what nobody can receive") {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& more) -> std::string {
    try {
      placing("live_motion", live_parameters(folder.path(), more), folder.path());
    } catch (const std::exception& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(error_of("longest_s: 1, patience_s: 0.05")
            .find("no pose is known for 0 to 1 s, of which there are events: see to the tracker, or say what to do") !=
        std::string::npos);
  CHECK(error_of("longest_s: 1, patience_s: 0.05, gaps: hold").find("no pose is known for 0 to 1 s") !=
        std::string::npos);
  CHECK(error_of("patience_s: 1").find("longest_s") != std::string::npos);
  CHECK(error_of("longest_s: 1, replay: true").find("set journal") != std::string::npos);
  CHECK(error_of(fmt::format("longest_s: 1, replay: true, resume: true, journal: {}", (folder / "j").string()))
            .find("set one of them") != std::string::npos);
  { const journal::Writer empty(folder / "empty"); }
  CHECK(error_of(fmt::format("longest_s: 1, replay: true, journal: {}", (folder / "empty").string()))
            .find("holds no poses") != std::string::npos);
  CHECK_THROWS_WITH(
      RegisteredGadgetTest<EventBatch>("live_motion", "{endpoint: \"tcp://*:5999\", longest_s: 1}", folder.path()),
      doctest::Contains("keys"));
}

TEST_CASE("a live scan with live poses gives the image of their table, and so does its journal, bit for bit") {
  const TemporaryFolder folder;
  std::string motion = "time_s,qw,qx,qy,qz,tx_mm,ty_mm,tz_mm\n";
  for (int step = 0; step < 8; ++step)
    motion += fmt::format("{},{},0,0,{},{},0,{}\n", 0.5 * step, std::cos(0.02 * step), std::sin(0.02 * step), 2 * step,
                          -step);
  std::ofstream(folder / "motion.csv") << motion;
  const auto image_of = [&](const std::string& name, const std::string& gadgets) {
    const std::string yaml = fmt::format(
        R"(
backend: cpu
image: {{size: [20, 20, 10], voxel_mm: [12, 12, 14]}}
gadgets:
{}
  sorted: {{use: tof_partition, from: placed}}
  subsets: {{use: subset_builder, from: sorted, subsets: 2, cut: interleaved, iterations: 2, reference_s: 1}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}, sensitivity: {{exact_pairs: 0,
    sampled_pairs: 50000, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
  file: {{use: nifti_writer, from: estimate}}
)",
        gadgets);
    const RunReport report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / name}).run();
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? std::string() : report.errors.front().text()));
    CHECK(report.books.balanced());
    return read_nifti(folder / name / "image.nii.gz").voxels.to_vector();
  };
  const std::string photons = fmt::format(
      "  photons: {{use: simulator, scanner: demo_ring, phantom: uniform_cylinder, seconds: 4, activity_scale: 0.003, "
      "batch_events: 1000, "
      "attenuation: false, motion: {{file: {}}}}}\n",
      (folder / "motion.csv").string());
  const std::string journal = (folder / "scan.journal").string();
  const auto live = image_of(
      "live",
      photons +
          fmt::format(
              "  sent: {{use: zmq_sink, from: photons, scanner: demo_ring, endpoint: \"ipc://{0}/events\"}}\n"
              "  tracker: {{use: zmq_pose_sink, from: photons, endpoint: \"ipc://{0}/poses\", file: {0}/motion.csv, "
              "maps: object_to_scanner}}\n"
              "  feed: {{use: zmq_source, endpoint: \"ipc://{0}/events\", journal: {1}}}\n"
              "  placed: {{use: live_motion, from: feed.events, endpoint: \"ipc://{0}/poses\", longest_s: 2, "
              "journal: {1}}}\n",
              folder.path().string(), journal));
  const std::string feed = fmt::format("  feed: {{use: journal_source, path: {}}}\n", journal);
  CHECK(image_of("replay", feed + fmt::format("  placed: {{use: live_motion, from: feed.events, longest_s: 2, journal: "
                                              "{}, replay: true}}\n",
                                              journal)) == live);
  CHECK(image_of("table", feed + fmt::format("  placed: {{use: rigid_motion, from: feed.events, file: {}, maps: "
                                             "object_to_scanner, longest_s: 2}}\n",
                                             (folder / "motion.csv").string())) == live);
  CHECK(*std::ranges::max_element(live) > 0);
}
// SPDX-License-Identifier: Apache-2.0
