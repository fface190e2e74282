// Monitors: a late one gets the header and continues; a slow one loses frames, which are counted; no sender waits for
// them.
#include <chrono>
#include <thread>

#include "gadgets/wire/frame_sender.hpp"
#include "gadgets/wire/key_files.hpp"
#include "gadgets/wire/stream_receiver.hpp"
#include "tests/gadgets/live_support.hpp"

using namespace tofstream;
using namespace live_test;
using wire_test::StreamMaker;

namespace {

// Sends a frame repeatedly until so many monitors have joined and received it.
void send_until_joined(FrameSender& sender, const Bytes& frame, std::uint64_t monitors) {
  while (sender.subscriptions() < monitors) {
    sender.send(frame);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Takes frames as a monitor does.
struct Monitor {
  explicit Monitor(std::span<const Bytes> frames) {
    StreamReceiver receiver(emit, context, {.is_monitor = true});
    for (const Bytes& frame : frames) receiver.take({.data = frame});
    is_complete = receiver.is_complete();
    receiver.finish();
  }
  std::int64_t figure(const std::string& key) const { return std::get<std::int64_t>(context.figures().at(key)); }
  std::uint64_t lost(const std::string& why) const {
    const auto books = context.recorded();
    return books.lost.contains(why) ? books.lost.at(why) : 0;
  }
  CollectingEmit<LiveStream> emit;
  TestContext context;
  bool is_complete = false;
};

constexpr auto* before = "sent before this monitor joined";
constexpr auto* dropped = "sent, but not received: nobody waits for a monitor";

}  // namespace

TEST_CASE("what was sent before a monitor joined, and what it missed since, is booked by what it is") {
  auto frames = StreamMaker().records(10).records(20).records(30).records(40).end();
  frames.erase(frames.begin() + 3);
  frames.erase(frames.begin() + 1);
  const Monitor late(frames);
  CHECK(late.is_complete);
  CHECK(late.figure("frames_before_joining") == 1);
  CHECK(late.figure("missing_frames") == 1);
  CHECK(late.lost(before) == 10);
  CHECK(late.lost(dropped) == 30);
  CHECK(late.context.recorded().received == 100);
  CHECK(late.emit.of<&LiveStream::events>().size() == 2);

  const Monitor at_the_end(std::vector{frames.front(), frames.back()});
  CHECK(at_the_end.is_complete);
  CHECK(at_the_end.lost(before) == 100);

  const Monitor all(StreamMaker().records(10).end());
  CHECK(all.figure("frames_before_joining") == 0);
  CHECK(all.context.recorded().lost_total() == 0);
}

TEST_CASE("a monitor that joins late gets the header and the rest of the stream") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  StreamMaker maker;
  for (int k = 0; k < 8; ++k) maker.records(100);
  const auto frames = maker.end();
  FrameSender sender({.pattern = SendPattern::pub, .endpoint = endpoint});
  for (std::size_t k = 0; k < 4; ++k) CHECK(sender.send(frames[k]));  // to nobody

  Engine engine = engine_of(receiving_records(endpoint, ", pattern: sub"));
  RunReport report;
  std::jthread monitor([&] { report = engine.run(); });
  send_until_joined(sender, frames[4], 1);
  for (std::size_t k = 5; k < frames.size(); ++k) sender.send(frames[k]);
  monitor.join();
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(kept_events() == 500);
  CHECK(figure(report, "frames_before_joining") == 3);
  CHECK(figure(report, "missing_frames") == 0);
  CHECK(report.books.lost.at(before) == 300);
  CHECK(report.books.balanced());
}

TEST_CASE("a monitor that reads nothing holds nobody back, loses frames, and still learns of the end") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  StreamMaker maker;
  constexpr std::uint64_t data = 40, events = 10'000;  // 4.8 MB: more than the kernel keeps
  for (std::uint64_t k = 0; k < data; ++k) maker.records(events);
  const auto frames = maker.end();
  FrameSender sender({.pattern = SendPattern::pub, .endpoint = endpoint, .high_water_mark = 2});
  zmq::context_t context;
  zmq::socket_t slow(context, zmq::socket_type::sub);
  slow.set(zmq::sockopt::linger, 0);
  slow.set(zmq::sockopt::rcvhwm, 1);
  slow.set(zmq::sockopt::subscribe, "");
  slow.connect(endpoint);
  send_until_joined(sender, frames[0], 1);
  for (std::uint64_t k = 1; k <= data; ++k) CHECK(sender.send(frames[k]));

  std::jthread ending([&] { sender.send(frames.back()); });
  std::vector<Bytes> got;
  while (got.empty() || wire::peek_header(got.back())->kind != wire::FrameKind::end) {
    zmq::message_t message;
    REQUIRE(slow.recv(message));
    got.emplace_back(message.data<std::byte>(), message.data<std::byte>() + message.size());
  }
  slow.close();
  const Monitor monitor(got);
  const std::uint64_t received = monitor.emit.of<&LiveStream::events>().size();
  CHECK(received < data);
  CHECK(monitor.is_complete);
  CHECK(monitor.lost(before) + monitor.lost(dropped) == events * (data - received));
  CHECK(monitor.context.recorded().received == events * data);
}

TEST_CASE("a monitor without the keys that are asked for is told so, and ends") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  const KeyPairFiles scanner = make_key_pair("scanner", folder.path());
  const KeyPairFiles known = make_key_pair("known", folder / "monitors");
  const KeyPairFiles stranger = make_key_pair("stranger", folder.path());
  const FrameSender sender({.pattern = SendPattern::pub,
                            .endpoint = endpoint,
                            .keys = {.own = scanner.secret_file, .allowed = folder / "monitors"}});
  const RunReport report =
      run(receiving_records(endpoint, fmt::format(", pattern: sub, keys: {{own: {}, server: {}}}",
                                                  stranger.secret_file.string(), scanner.public_file.string())));
  CHECK(report.exit_code == exit_run);
  CHECK_MESSAGE(first_error(report).find("does not know the key 'stranger'") != std::string::npos, first_error(report));
  // The sender may learn of it after the monitor.
  for (int waited = 0; waited < 500 && sender.refused_connections() == 0; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(sender.refused_connections() >= 1);
}
// SPDX-License-Identifier: Apache-2.0
