// A peer that never ends its message is cut off before it fills the memory; a correct peer is not.
#include "gadgets/wire/unfinished_messages.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.hpp>

#include "gadgets/wire/key_files.hpp"
#include "gadgets/wire/socket_guard.hpp"
#include "gadgets/wire/wait_for_any.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

constexpr std::size_t mib = 1 << 20, largest = 4 * mib;

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Receives at a port of this machine like the program's receivers.
class Receiver {
 public:
  explicit Receiver(const KeyParams& keys = {}, zmq::socket_type type = zmq::socket_type::pull)
      : socket_(context_, type),
        guard_(context_, socket_,
               {.end = SocketEnd::binds,
                .endpoint = "tcp://127.0.0.1:*",
                .keys = keys,
                .warn = [this](std::string_view text) { warning_ = text; },
                .largest_message = largest}) {
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(largest));
    socket_.set(zmq::sockopt::rcvhwm, 4);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.bind("tcp://127.0.0.1:*");
    endpoint = socket_.get(zmq::sockopt::last_endpoint);
    thread_ = std::jthread([this](const std::stop_token& stop) { receive(stop); });
  }
  ~Receiver() { stop(); }

  void stop() { thread_ = {}; }
  std::uint16_t port() const { return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))); }
  std::uint64_t cut() const { return guard_.refused(); }
  const std::string& warning() const { return warning_; }  // after stop()

  std::string endpoint;
  std::atomic<std::uint64_t> messages = 0, bytes = 0;

 private:
  void receive(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0}};
      wait_for_any(items, std::min(guard_.longest_wait(), std::chrono::milliseconds(50)));
      guard_.look();
      for (zmq::message_t message; socket_.recv(message, zmq::recv_flags::dontwait);) {
        guard_.took(message);
        ++messages;
        bytes += message.size();
      }
      guard_.cut_unfinished();
    }
  }

  std::string warning_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  SocketGuard guard_;
  std::jthread thread_;
};

// A peer that speaks ZMTP 3.0 (RFC 23) itself, without keys, and so can do what libzmq never does.
class RawPeer {
 public:
  RawPeer(std::uint16_t port, const std::string& type) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    std::string greeting(64, '\0');
    greeting.replace(0, 12, std::string("\xff\0\0\0\0\0\0\0\0\x7f\3\0", 12));
    greeting.replace(12, 4, "NULL");
    REQUIRE(send(greeting));
    take(64);
    const std::string ready = std::string("\5READY\x0bSocket-Type\0\0\0", 21) + static_cast<char>(type.size()) + type;
    REQUIRE(send(std::string("\4") + static_cast<char>(ready.size()) + ready));
    const std::string head = take(2);
    take(static_cast<unsigned char>(head[1]));
  }
  ~RawPeer() { ::close(socket_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  // Sends a part of a message of some length; false if the connection is cut.
  bool send_part(std::size_t bytes, bool has_more) {
    std::string head(9, '\0');
    head[0] = static_cast<char>(has_more ? 3 : 2);
    for (int n = 0; n < 8; ++n) head[static_cast<std::size_t>(8 - n)] = static_cast<char>(bytes >> (8 * n));
    return send(head) && send(std::string(bytes, 'x'));
  }

 private:
  bool send(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t sent = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<std::size_t>(sent);
    }
    return true;
  }
  std::string take(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t got = ::recv(socket_, text.data() + at, bytes - at, 0);
      REQUIRE(got > 0);
      at += static_cast<std::size_t>(got);
    }
    return text;
  }

  int socket_;
};

void check_endless(zmq::socket_type receives, const std::string& sends) {
  Receiver receiver({}, receives);
  const std::size_t before = resident_bytes();
  RawPeer peer(receiver.port(), sends);
  constexpr std::size_t most = 4096;
  std::size_t sent = 0, peak = 0;
  while (sent < most && peer.send_part(mib, true)) {
    ++sent;
    peak = std::max(peak, resident_bytes());
  }
  CHECK(sent < most);
  // What may arrive between two checks on a busy machine.
  CHECK((peak - std::min(before, peak)) / mib < 512);
  while (receiver.cut() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it is counted afterwards
  CHECK(receiver.cut() == 1);
  CHECK(receiver.messages == 0);
  receiver.stop();
  CHECK(receiver.warning().find("it sent more than 4194304 bytes without an end of its message") != std::string::npos);
}

}  // namespace

TEST_CASE("a message without an end is cut, at a receiver and at a server") {
  check_endless(zmq::socket_type::pull, "PUSH");
  check_endless(zmq::socket_type::router, "DEALER");
}

TEST_CASE("whole messages of any size and number are never cut, also where they come in parts") {
  Receiver receiver;
  RawPeer peer(receiver.port(), "PUSH");
  std::uint64_t bytes = 0;
  const auto part = [&](std::size_t length, bool has_more) {
    REQUIRE(peer.send_part(length, has_more));
    bytes += length;
  };
  for (int n = 0; n < 20; ++n) part(largest, false);
  for (int n = 0; n < 50'000; ++n) part(1, false);
  for (int n = 0; n < 20; ++n) {
    part(largest / 2, true);
    part(largest / 2, false);
  }
  while (receiver.bytes < bytes && receiver.cut() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(receiver.bytes == bytes);
  CHECK(receiver.cut() == 0);
}

TEST_CASE("with keys, whole messages pass, and one of many parts, which would fill the memory, is cut") {
  const TemporaryFolder folder;
  const KeyPairFiles own = make_key_pair("receiver", folder / "own"), known = make_key_pair("sender", folder / "known");
  Receiver receiver({.own = own.secret_file, .allowed = folder / "known"});
  const SecretKey key = read_secret_key(known.secret_file);
  zmq::context_t context;
  zmq::socket_t sender(context, zmq::socket_type::push);
  sender.set(zmq::sockopt::linger, 0);
  sender.set(zmq::sockopt::curve_secretkey, key.z85);
  sender.set(zmq::sockopt::curve_publickey, key.public_z85);
  sender.set(zmq::sockopt::curve_serverkey, own.key.z85);
  sender.connect(receiver.endpoint);
  static const std::vector<char> bytes(largest);
  constexpr int whole = 50, parts = 400;
  constexpr std::size_t sealing = 64;          // libzmq bounds a part as it comes, sealed
  const auto part = [&](std::size_t length) {  // without a copy, so that this end needs no memory
    return zmq::message_t(const_cast<char*>(bytes.data()), length, [](void*, void*) {});
  };
  for (int n = 0; n < whole; ++n) sender.send(part(n % 2 ? largest - sealing : 100), zmq::send_flags::none);
  while (receiver.messages < whole && receiver.cut() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(receiver.messages == whole);
  CHECK(receiver.cut() == 0);
  for (int n = 0; n < parts; ++n)
    sender.send(part(mib), n + 1 < parts ? zmq::send_flags::sndmore : zmq::send_flags::none);
  while (receiver.cut() == 0 && receiver.messages < whole + parts)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(receiver.cut() > 0);
  CHECK(receiver.messages == whole);
}
// SPDX-License-Identifier: Apache-2.0
