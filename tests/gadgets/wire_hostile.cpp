// A stranger who sends what is no stream, among the messages of one: nothing of it is believed, no event is lost, and
// memory does not grow.
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include <unistd.h>
#include <zmq.hpp>

#include "tests/gadgets/live_support.hpp"

using namespace tofstream;
using namespace live_test;
using wire_test::StreamMaker;

namespace {

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// What no receiver may take: bytes of a frame that are changed, cut, made longer or sent again, and noise.
class Hostile {
 public:
  explicit Hostile(const std::vector<Bytes>& frames) : frames_(frames) {}

  /// `sent`: of the frames, those that have gone out.
  Bytes next(std::size_t sent) {
    Bytes bytes = frames_[draw(sent)];
    switch (draw(6)) {
      case 0:
        flip(bytes, bytes.size());
        break;
      case 1:
        flip(bytes, wire::header_bytes);
        break;
      case 2:
        bytes.resize(draw(bytes.size()));
        break;
      case 3:
        bytes.resize(bytes.size() + 1 + draw(100));
        break;
      case 4:
        break;  // a duplicate, or the header again
      default:
        bytes.resize(draw(300));
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    }
    return bytes;
  }

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  void flip(Bytes& bytes, std::size_t within) { bytes[draw(within)] ^= static_cast<std::byte>(1 + draw(255)); }

  const std::vector<Bytes>& frames_;
  std::mt19937 random_{20};
};

/// Nobody listens there. Not ipc://, where no sender is held back and memory may grow (tofstream docs wire).
std::string free_endpoint() {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::pull);
  socket.bind("tcp://127.0.0.1:*");
  return socket.get(zmq::sockopt::last_endpoint);
}

}  // namespace

// TOFSTREAM_HOSTILE_MESSAGES=1000000 for the whole of it.
TEST_CASE("of a flood of messages of which a tenth is a stream, exactly the stream is taken, and memory stays") {
  const char* const wish = std::getenv("TOFSTREAM_HOSTILE_MESSAGES");
  const std::size_t messages = wish ? std::stoul(wish) : 30000;
  StreamMaker maker;
  std::uint64_t events = 0;
  for (std::size_t k = 0; k < messages / 10; ++k) {
    maker.records(static_cast<std::uint32_t>(1 + k % 20));
    events += 1 + k % 20;
  }
  const auto frames = maker.end();
  const std::string endpoint = free_endpoint();
  double before = 0, most = 0;
  std::jthread sender([&] {
    zmq::context_t context;
    zmq::socket_t socket(context, zmq::socket_type::push);
    socket.set(zmq::sockopt::sndhwm, 1000);
    socket.connect(endpoint);
    Hostile hostile(frames);
    const auto send = [&](const Bytes& bytes) { socket.send(zmq::buffer(bytes)); };
    for (std::size_t k = 0; k + 1 < frames.size(); ++k) {
      send(frames[k]);
      for (int i = 0; i < 9; ++i) send(hostile.next(k + 1));
      if (k == frames.size() / 4) before = resident_mib();
      if (k % 1000 == 0) most = std::max(most, resident_mib());
    }
    most = std::max(most, resident_mib());
    send(frames.back());
    socket.close();
  });
  const RunReport report = run(fmt::format(
      "gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\", memory_mib: 8}}\n  end: {{use: null_sink, from: "
      "feed.events}}\n",
      endpoint));
  sender.join();
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(report.books.received == events);
  CHECK(report.books.lost.empty());
  CHECK(report.books.rejected.empty());
  CHECK(report.books.balanced());
  CHECK(figure(report, "missing_frames") == 0);
  CHECK(figure(report, "bad_frames") > static_cast<std::int64_t>(messages / 2));
  CHECK(figure(report, "duplicate_frames") > 0);
  constexpr double room_mib = 64;  // the queue's memory, and what waits in ZeroMQ
  CHECK_MESSAGE(most < before + room_mib, before, " MiB, then ", most, " MiB");
}
// SPDX-License-Identifier: Apache-2.0
