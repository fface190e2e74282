// The socket that clients connect to, of a server and of a dispatcher: whoever may connect, how much may wait there,
// and what becomes of who vanishes or sends without an end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <zmq.hpp>

#include "gadgets/wire/socket_guard.hpp"

namespace tofstream::serve {

inline constexpr std::size_t most_of_a_frame = std::size_t{256} << 20;

struct FrontSettings {
  std::string endpoint;
  KeyParams keys;
  std::chrono::milliseconds patience{10'000};   // with a connection that does not shake hands, or whose machine is gone
  std::size_t largest_frame = most_of_a_frame;  // a client that sends a longer one is disconnected
};

class FrontSocket {
 public:
  /// Binds. Throws std::runtime_error or std::invalid_argument, one line, if it cannot.
  explicit FrontSocket(const FrontSettings& settings);

  /// Where it listens, with the port that it got.
  const std::string& endpoint() const { return endpoint_; }

  /// Takes what has come, up to some hundred messages: `take(client, message)` for each, where a client is the
  /// identity of its connection, and the message is null where it had not one part.
  template <class Take>
  void receive(const Take& take);

  enum class Sent { yes, full, gone };
  /// Full: what waits for that client is as much as may; gone: it is not connected any more.
  Sent send(const std::string& client, std::span<const std::byte> message);
  /// Takes the message's content where it is sent.
  Sent send(const std::string& client, zmq::message_t& message);

  zmq::pollitem_t poll_item() { return {socket_.handle(), 0, ZMQ_POLLIN, 0}; }
  std::chrono::milliseconds longest_wait() const { return guard_.longest_wait(); }

 private:
  static constexpr std::size_t most_at_a_time = 256;

  zmq::context_t zmq_;
  zmq::socket_t socket_;
  SocketGuard guard_;
  std::string endpoint_;
};

template <class Take>
void FrontSocket::receive(const Take& take) {
  zmq::message_t client, part;
  guard_.look();
  for (std::size_t i = 0; i < most_at_a_time; ++i) {
    if (!socket_.recv(client, zmq::recv_flags::dontwait)) return guard_.cut_unfinished();
    std::size_t parts = 0;
    zmq::message_t first;
    for (bool more = client.more(); more && socket_.recv(part, zmq::recv_flags::dontwait);) {
      more = part.more();
      guard_.took(part);
      if (parts++ == 0) first = std::move(part);
    }
    take(client.to_string(), parts == 1 ? &first : nullptr);
  }
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
