// Views that come over the wire: out of frames, in the books, and all the way to an image.
#include <cmath>
#include <cstring>
#include <thread>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/spect/io/view_frames.hpp"
#include "gadgets/wire/stream_receiver.hpp"
#include "tests/gadgets/live_support.hpp"
#include "tests/gadgets/spect/spect_support.hpp"
#include "tests/gadgets/wire_support.hpp"

namespace tofstream {
namespace {

using namespace spect_test;
using wire_test::Bytes;

constexpr int planned_views = 6;

ViewSet planned_set() {
  ViewSet set{.name = "a camera", .pixel_mm = {8, 8, 0}};
  set.size[0] = 4;
  set.size[1] = 2;
  set.windows = {{126, 154}, {100, 120}};
  for (int v = 0; v < planned_views; ++v)
    set.places.push_back(
        {.angle_deg = 60.0F * static_cast<float>(v), .radius_mm = 150, .start_s = 10.0 * v, .duration_s = 10});
  return set;
}

// A stream of one view a frame, each pixel of view v with v + 1 counts.
std::vector<Bytes> view_stream(const ViewSet& plan = planned_set(), std::uint64_t stream = 5,
                               int views = planned_views) {
  const wire::CameraStream camera = wire::read_camera_header(wire::write_camera_header(plan, {}));
  std::vector<Bytes> frames = {
      wire::encode_frame({.kind = wire::FrameKind::stream_header, .schema = wire::camera_header, .stream = stream},
                         wire::write_camera_header(plan, {}))};
  std::uint64_t events = 0;
  for (int v = 0; v < views; ++v) {
    ViewBatch batch{.count = plan.pixels(), .set = camera.set};
    batch.counts = Buffer<float>::from(std::vector(8, static_cast<float>(v + 1)));
    batch.records = {{.view = v, .counts = static_cast<std::uint64_t>(8 * (v + 1))}};
    auto [header, bytes] = wire::write_views(batch, wire::ViewPixels::automatic);
    header.stream = stream;
    header.sequence = frames.size();
    header.first_event = events;
    events += header.events;
    wire::seal_frame(header, bytes);
    frames.push_back(bytes);
  }
  frames.push_back(wire::encode_frame(
      {.kind = wire::FrameKind::end, .stream = stream, .sequence = frames.size(), .first_event = events}, {}));
  return frames;
}

struct Received {
  CollectingEmit<LiveStream> emit;
  TestContext context;

  explicit Received(const std::vector<Bytes>& frames, const std::string& unread = "") {
    if (!unread.empty()) context.disconnect(unread);
    StreamReceiver receiver(emit, context);
    for (const Bytes& frame : frames) receiver.take({.data = frame});
    receiver.finish();
  }
  auto views() const { return emit.of<&LiveStream::views>(); }
  std::int64_t figure(const std::string& key) const { return std::get<std::int64_t>(context.figures().at(key)); }
};

}  // namespace

TEST_CASE("views come out with the set of the stream's header, and the books have their counts") {
  const Received got(view_stream());
  REQUIRE(got.views().size() == planned_views);
  CHECK(*got.views()[3]->set == planned_set());
  CHECK(got.views()[3]->records[0].view == 3);
  CHECK(got.views()[3]->counts[7] == 4);
  CHECK(got.views()[0]->set == got.views()[5]->set);
  CHECK(got.context.recorded().received == 8 * 21);
  CHECK(got.figure("views") == planned_views);
  CHECK(got.figure("planned_views") == planned_views);
}

TEST_CASE("a view that never came, or that no camera counted, is lost or rejected, and no other") {
  auto frames = view_stream();
  frames.erase(frames.begin() + 2);
  const Received missing(frames);
  CHECK(missing.views().size() == planned_views - 1);
  CHECK(missing.context.recorded().lost_total() == 16);

  frames = view_stream();
  wire::FrameHeader header = std::get<wire::Frame>(wire::decode_frame(frames[3])).header;
  const std::uint32_t number = 77;
  std::memcpy(frames[3].data() + wire::header_bytes + 24, &number, sizeof number);
  wire::seal_frame(header, frames[3]);
  const Received wrong(frames);
  CHECK(wrong.views().size() == planned_views - 1);
  CHECK(wrong.context.recorded().rejected_total() == 24);
  CHECK(wrong.figure("bad_frames_contents") == 1);
  CHECK(wrong.context.recorded().received == 8 * 21);
}

TEST_CASE(
    "a sender of views that begins again goes on with its scan; one of another plan, or of list mode, is left out") {
  const auto first = view_stream(planned_set(), 5, 2), second = view_stream(planned_set(), 6);
  std::vector<Bytes> frames(first.begin(), first.end() - 1);
  frames.insert(frames.end(), second.begin(), second.end());
  const Received again(frames);
  CHECK(again.views().size() == 2 + planned_views);
  CHECK(again.figure("streams") == 2);

  ViewSet other = planned_set();
  other.places[1].radius_mm = 151;
  for (const auto& strange :
       {view_stream(other, 6), wire_test::StreamMaker(wire_test::header(), 6).records(10).end()}) {
    frames = view_stream();
    frames.insert(frames.begin() + 2, strange.begin(), strange.end());
    const Received left_out(frames);
    CHECK(left_out.views().size() == planned_views);
    const auto why = std::get<std::string>(left_out.context.figures().at("stream_left_out"));
    CHECK_MESSAGE(why.find("another") != std::string::npos, why);
  }
}

TEST_CASE("records in a stream of views, and views in one of list mode, are rejected") {
  auto frames = view_stream();
  auto records = wire_test::StreamMaker().records(10).end();
  records[1] = frames[1];
  const Received in_records(records);
  CHECK(in_records.context.recorded().rejected_total() == 8);
  frames[1] = wire_test::StreamMaker().records(10).end()[1];
  const Received in_views(frames);
  CHECK(in_views.context.recorded().rejected_total() == 10);
  CHECK(in_views.views().size() == planned_views - 1);
}

TEST_CASE("a stream whose data nothing reads is refused, with the output to connect") {
  CHECK_THROWS_WITH_AS(Received(view_stream(), "views"),
                       doctest::Contains("the stream is of a camera's views, which come out of the output views, and "
                                         "nothing reads that: connect"),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(Received(wire_test::StreamMaker().records(10).end(), "events"), doctest::Contains("connect"),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(Received(wire_test::StreamMaker().blocks(3).end(), "bytes"), doctest::Contains("connect"),
                       std::runtime_error);
}

TEST_CASE("a file, its stream and the stream's journal give one image, bit for bit") {
  const TemporaryFolder folder;
  const std::string camera = small_camera(folder.path());
  const std::string socket = "ipc://" + (folder / "socket").string();
  const auto run = [&](const std::string& pipeline, const char* out) {
    const RunReport report = Engine(parse_pipeline(pipeline, "test.yaml"), {.output_dir = folder / out}).run();
    REQUIRE_MESSAGE(report.exit_code == 0, live_test::first_error(report));
    CHECK(report.books.balanced());
    CHECK(report.books.lost.empty());
    return report;
  };
  run(fmt::format("gadgets:\n  photons: {{use: spect_simulator, scanner: {}, phantom: spect_points, events: 40000, "
                  "attenuation: false}}\n  file: {{use: projections_writer, from: photons}}\n",
                  camera),
      "scan");
  const auto image_of = [&](const std::string& source, const std::string& port, const char* out) {
    const std::string pipeline = fmt::format(R"(
backend: cpu
image: auto
scanner: {}
gadgets:
  feed: {{{}}}
  subsets: {{use: live_views, from: feed{}, subsets: 4, least_views: 3, iterations: 2, final: offline}}
  projected: {{use: rotation_projector, from: {{views: subsets, image: estimate}}}}
  estimate: {{use: osem_update, from: projected}}
  file: {{use: nifti_writer, from: estimate}}
)",
                                             camera, source, port);
    run(pipeline, out);
    return read_nifti(folder / out / "image.nii.gz").voxels.to_vector();
  };
  const std::string path = (folder / "scan/views.hs").string();
  const auto from_file = image_of("use: projections_source, path: " + path, "", "file");
  std::jthread sender([&] {
    const std::string pipeline = fmt::format(
        "gadgets:\n  feed: {{use: projections_source, path: {}}}\n  sent: {{use: zmq_view_sink, from: feed, "
        "endpoint: \"{}\"}}\n",
        path, socket);
    CHECK(Engine(parse_pipeline(pipeline, "send.yaml"), {.output_dir = folder / "sent"}).run().exit_code == 0);
  });
  const std::string journal = (folder / "journal").string();
  CHECK(image_of(fmt::format("use: zmq_source, endpoint: \"{}\", journal: {}", socket, journal), ".views", "live") ==
        from_file);
  sender.join();
  CHECK(image_of("use: journal_source, path: " + journal, ".views", "again") == from_file);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
