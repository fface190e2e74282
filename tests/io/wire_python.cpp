// The Python sender of share/examples makes valid frames.
#include <fstream>
#include <thread>

#include <zmq.hpp>

#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/wire/records.hpp"
#include "tests/command/command.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/python.hpp"

using namespace tofstream;
using namespace tofstream::wire;

namespace {

petsird::toy::Bytes stream_without_blocks() {
  petsird::toy::Bytes bytes;
  petsird::Writer(petsird::toy::sink_to(bytes), petsird::toy::header()).finish();
  return bytes;
}

/// The next message, copied; a minute is never needed.
std::vector<std::byte> receive(zmq::socket_t& socket) {
  zmq::message_t message;
  REQUIRE(socket.recv(message));
  const auto* data = static_cast<const std::byte*>(message.data());
  return {data, data + message.size()};
}

}  // namespace

TEST_CASE("the Python sender sends a header, events without a gap, and the end") {
  if (skip_without_numpy()) return;
  const TemporaryFolder folder;
  const auto header_file = folder / "header.petsird";
  const petsird::toy::Bytes stream = stream_without_blocks();
  std::ofstream(header_file, std::ios::binary)
      .write(reinterpret_cast<const char*>(stream.data()), static_cast<std::streamsize>(stream.size()));
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::pull);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 60'000);
  socket.bind("tcp://127.0.0.1:*");
  const std::string command =
      fmt::format("{} {} {} {} 12 3", python_with_numpy(), find_shared_file("examples/python/send_events.py").string(),
                  socket.get(zmq::sockopt::last_endpoint), header_file.string());
  int ended = -1;
  std::jthread sender([&] { ended = std::system(command.c_str()); });

  const auto first = receive(socket);
  const auto header = decode_frame(first);
  REQUIRE_MESSAGE(std::holds_alternative<Frame>(header), std::get<BadFrame>(header).what);
  CHECK(std::get<Frame>(header).header.kind == FrameKind::stream_header);
  CHECK(std::ranges::equal(std::get<Frame>(header).payload, std::span(stream).first(stream.size() - 1)));
  const auto scanner = petsird::to_scanner(petsird::toy::scanner());
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const auto bytes = receive(socket);
    const auto frame = decode_frame(bytes);
    REQUIRE_MESSAGE(std::holds_alternative<Frame>(frame), std::get<BadFrame>(frame).what);
    CHECK(std::get<Frame>(frame).header.stream == std::get<Frame>(header).header.stream);
    CHECK(std::get<Frame>(frame).header.sequence == sequence);
    CHECK(std::get<Frame>(frame).header.first_event == (sequence - 1) * 1000);
    const auto events = read_records(std::get<Frame>(frame), scanner);
    REQUIRE_MESSAGE(std::holds_alternative<EventBatch>(events), std::get<BadFrame>(events).what);
    CHECK(std::get<EventBatch>(events).count == 1000);
    CHECK(std::get<EventBatch>(events).duration_s == approx(0.1));
  }
  const auto last = receive(socket);
  const auto end = decode_frame(last);
  REQUIRE_MESSAGE(std::holds_alternative<Frame>(end), std::get<BadFrame>(end).what);
  CHECK(std::get<Frame>(end).header.kind == FrameKind::end);
  CHECK(std::get<Frame>(end).header.first_event == 3000);
  sender.join();
  CHECK(ended == 0);
}
// SPDX-License-Identifier: Apache-2.0
