// Live streams over ZeroMQ from end to end: what is sent arrives, even if senders fail; and runs end at once if there
// is no peer.
#include <chrono>
#include <thread>

#include "tests/gadgets/live_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using wire_test::StreamMaker;

using namespace live_test;

namespace {

using namespace std::chrono_literals;

struct KeepEvents {
  void process(const EventBatch& batch, Context& context) {
    context.books().written(batch.event_count());
    kept().push_back(batch);
  }
};
TOFSTREAM_GADGET(KeepEvents, "test_keep_events", "Keeps events");

}  // namespace

TEST_CASE("simulated events arrive as they were sent") {
  const std::string photons =
      "photons: {use: simulator, scanner: demo_ring, phantom: uniform_cylinder, events: 20000, batch_events: 3000}";
  REQUIRE(run(fmt::format("gadgets:\n  {}\n  end: {{use: test_keep_events, from: photons}}\n", photons)).exit_code ==
          0);
  const std::vector<EventBatch> sent = std::move(kept());
  const TemporaryFolder folder;
  const RunReport report = run(fmt::format(
      "endpoint: \"ipc://{}\"\nscanner: demo_ring\ngadgets:\n  {}\n  sent: {{use: zmq_sink, from: photons}}\n"
      "  feed: {{use: zmq_source}}\n  end: {{use: test_keep_events, from: feed.events}}\n",
      (folder / "socket").string(), photons));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  REQUIRE(kept().size() == sent.size());
  for (std::size_t k = 0; k < sent.size(); ++k) {
    CHECK(std::ranges::equal(kept()[k].detector1.span(), sent[k].detector1.span()));
    CHECK(std::ranges::equal(kept()[k].detector2.span(), sent[k].detector2.span()));
    CHECK(std::ranges::equal(kept()[k].tof_mm.span(), sent[k].tof_mm.span()));
    CHECK(kept()[k].tof.sigma_mm == approx(sent[k].tof.sigma_mm));
    CHECK(kept()[k].tof.bin_width_mm == approx(sent[k].tof.bin_width_mm));
    CHECK(kept()[k].start_s == approx(sent[k].start_s));
    CHECK(kept()[k].duration_s == approx(sent[k].duration_s));
    CHECK(kept()[k].detectors->size() == sent[k].detectors->size());
  }
  CHECK(report.books.balanced());
  CHECK(figure(report, "missing_frames") == 0);
}

TEST_CASE("a PETSIRD stream over the wire gives what its file gives") {
  const TemporaryFolder folder;
  StreamMaker maker;
  const auto frames = maker.blocks(300).blocks(200).end();
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  std::jthread sender([&] { send(endpoint, frames); });
  const RunReport report = run(fmt::format(
      "gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\"}}\n  events: {{use: petsird_decoder, from: feed.bytes}}\n"
      "  end: {{use: test_keep_events, from: events}}\n",
      endpoint));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(report.books.received == 500);
  CHECK(report.books.balanced());
  const EventBatch live = std::move(kept().at(0));
  std::ofstream(folder / "scan.petsird", std::ios::binary)
      .write(reinterpret_cast<const char*>(maker.whole().data()), static_cast<std::streamsize>(maker.whole().size()));
  REQUIRE(run(fmt::format("gadgets:\n  feed: {{use: file_source, path: {}}}\n"
                          "  events: {{use: petsird_decoder, from: feed}}\n"
                          "  end: {{use: test_keep_events, from: events}}\n",
                          (folder / "scan.petsird").string()))
              .exit_code == 0);
  CHECK(std::ranges::equal(live.detector1.span(), kept().at(0).detector1.span()));
  CHECK(std::ranges::equal(live.tof_mm.span(), kept().at(0).tof_mm.span()));
}

TEST_CASE("a recording of PETSIRD is sent as it is, in frames of whole time blocks") {
  const TemporaryFolder folder;
  StreamMaker maker;
  maker.blocks(300).blocks(0).blocks(200).blocks(100).end();
  std::ofstream(folder / "scan.petsird", std::ios::binary)
      .write(reinterpret_cast<const char*>(maker.whole().data()), static_cast<std::streamsize>(maker.whole().size()));
  const RunReport report = run(fmt::format(R"(
endpoint: "ipc://{}"
gadgets:
  file: {{use: file_source, path: {}, chunk_kib: 1}}
  sent: {{use: zmq_petsird_sink, from: file, frame_events: 400}}
  feed: {{use: zmq_source}}
  events: {{use: petsird_decoder, from: feed.bytes}}
  end: {{use: test_keep_events, from: events}}
)",
                                           (folder / "socket").string(), (folder / "scan.petsird").string()));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(figure(report, "frames") == 3);  // 300 + 0 + 200, 100, the end
  CHECK(kept_events() == 600);
  CHECK(report.books.received == 1200);  // by the sender, and by the decoder
  CHECK(report.books.balanced());
  CHECK(kept().at(0).duration_s == approx(0.4));
  const std::vector<EventBatch> live = std::move(kept());
  REQUIRE(run(fmt::format("gadgets:\n  feed: {{use: file_source, path: {}}}\n"
                          "  events: {{use: petsird_decoder, from: feed}}\n"
                          "  end: {{use: test_keep_events, from: events}}\n",
                          (folder / "scan.petsird").string()))
              .exit_code == 0);
  CHECK(std::ranges::equal(live.at(0).detector1.span(), kept().at(0).detector1.span()));
  CHECK(std::ranges::equal(live.at(0).tof_mm.span(), kept().at(0).tof_mm.span()));
}

TEST_CASE("a recorder, which decodes nothing, takes the stream of a sender that began again too, and both are booked") {
  const TemporaryFolder folder;
  StreamMaker first, second(wire_test::header(), 6);
  auto frames = first.records(10).records(20).end();
  frames.pop_back();
  for (const Bytes& frame : second.records(30).end()) frames.push_back(frame);
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  std::jthread sender([&] { send(endpoint, frames); });
  const RunReport report = run(fmt::format("gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\", journal: {}}}\n",
                                           endpoint, (folder / "journal").string()));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(report.books.received == 60);
  CHECK(report.books.written == 60);
  CHECK(figure(report, "streams") == 2);
}

TEST_CASE("frames dropped, twice, reordered, cut, flipped and rubbish: the run goes on and the books balance") {
  const TemporaryFolder folder;
  StreamMaker maker;
  for (int k = 0; k < 20; ++k) maker.records(100);
  auto frames = maker.end();
  frames[4].back() ^= std::byte{64};               // flipped
  frames[7].resize(frames[7].size() / 2);          // cut
  std::swap(frames[10], frames[12]);               // reordered
  frames.insert(frames.begin() + 15, frames[14]);  // twice
  frames.insert(frames.begin() + 1, Bytes(77));    // rubbish
  frames.erase(frames.end() - 3);                  // dropped
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  std::jthread sender([&] { send(endpoint, frames); });
  const RunReport report = run(receiving_records(endpoint, ", late_s: 0.1"));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(kept_events() == 1700);
  CHECK(report.books.received == 2000);
  CHECK(report.books.lost.at("sent, but not received") == 300);
  CHECK(report.books.balanced());
  CHECK(figure(report, "missing_frames") == 3);
  CHECK(figure(report, "duplicate_frames") == 1);
  CHECK(figure(report, "late_frames") == 2);
  CHECK(figure(report, "bad_frames") == 3);
}

TEST_CASE("a sender that vanishes and comes back is carried on from") {
  const TemporaryFolder folder;
  StreamMaker maker;
  for (int k = 0; k < 6; ++k) maker.records(50);
  const auto frames = maker.end();
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  auto again = frames;
  again.erase(again.begin() + 1, again.begin() + 3);  // it does not know what arrived: frame 3 comes once too often
  std::jthread sender([&] {
    send(endpoint, std::span(frames).first(4));
    send(endpoint, again);
  });
  const RunReport report = run(receiving_records(endpoint));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(kept_events() == 300);
  CHECK(figure(report, "missing_frames") == 0);
}

TEST_CASE("a larger frame than is allowed does not come in") {
  const TemporaryFolder folder;
  StreamMaker maker;
  const auto frames = maker.records(100'000).end();  // 1.2 MB
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  Engine engine = engine_of(receiving_records(endpoint, ", largest_frame_mib: 1"));
  std::jthread sender([&] {
    zmq::context_t context;
    zmq::socket_t socket(context, zmq::socket_type::push);
    socket.set(zmq::sockopt::linger, 0);
    socket.connect(endpoint);
    for (const Bytes& frame : frames) socket.send(zmq::buffer(frame));
    std::this_thread::sleep_for(300ms);
    engine.request_stop();
  });
  const RunReport report = engine.run();
  CHECK(report.stopped);
  CHECK(kept_events() == 0);
}

TEST_CASE("a source that nobody sends to is no stall, and ends at once at a stop") {
  const TemporaryFolder folder;
  EngineOptions options;
  options.stall_report = 20ms;
  Engine engine = engine_of(receiving_records("ipc://" + (folder / "socket").string()), options);
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);
    engine.request_stop();
  });
  const RunReport report = engine.run();
  CHECK(report.stopped);
  CHECK(report.errors.empty());
  CHECK(report.still_running.empty());
  CHECK(report.stalls.empty());
}

TEST_CASE("a sink that nobody receives from is no obstacle to an abort") {
  const TemporaryFolder folder;
  Engine engine =
      engine_of(fmt::format("scanner: demo_ring\ngadgets:\n"
                            "  photons: {{use: simulator, phantom: uniform_cylinder, events: 1000}}\n"
                            "  sent: {{use: zmq_sink, from: photons, endpoint: \"ipc://{}\", linger_s: 3600}}\n",
                            (folder / "socket").string()));
  std::jthread aborter([&] {
    std::this_thread::sleep_for(200ms);
    engine.abort();
  });
  const RunReport report = engine.run();
  CHECK(report.aborted);
  CHECK(report.still_running.empty());
}

TEST_CASE("an endpoint that is taken, or public, starts nothing") {
  const TemporaryFolder folder;
  zmq::context_t context;
  zmq::socket_t other(context, zmq::socket_type::pull);
  other.bind("tcp://127.0.0.1:*");
  const std::string taken = other.get(zmq::sockopt::last_endpoint);
  const RunReport in_use = run(receiving_records(taken));
  CHECK(in_use.exit_code == exit_config);
  CHECK(first_error(in_use).find("cannot receive at " + taken) != std::string::npos);
  for (const char* yaml :
       {"gadgets:\n  feed: {use: zmq_source, endpoint: \"tcp://*:5555\"}\n"
        "  end: {use: test_keep_events, from: feed.events}\n",
        "gadgets:\n  feed: {use: simulator, scanner: demo_ring, phantom: uniform_cylinder}\n"
        "  end: {use: zmq_sink, from: feed, scanner: demo_ring, endpoint: \"tcp://10.0.0.1:5555\"}\n"}) {
    const RunReport report = run(yaml);
    CHECK(report.exit_code == exit_config);
    CHECK_MESSAGE(first_error(report).find("is open to the network") != std::string::npos, first_error(report));
  }
}
// SPDX-License-Identifier: Apache-2.0
