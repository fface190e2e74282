// A DEALER socket with an eye on its connection: see server_link.hpp.
#include "tools/serve/server_link.hpp"

#include <atomic>

#include <fmt/format.h>

namespace tofstream::serve {

namespace {

constexpr int most_to_a_server = 8;  // that wait in ZeroMQ, each way
constexpr int server_linger_ms = 1000;
constexpr int never_again_ms = 24 * 3600 * 1000;

// One part of a monitor's message at a time; true if it told of the connection's end.
bool tells_of_end(zmq::socket_t& monitor) {
  zmq::message_t event, address;
  bool ended = false;
  while (monitor.recv(event, zmq::recv_flags::dontwait)) {
    ended = true;
    if (event.more()) static_cast<void>(monitor.recv(address));
  }
  return ended;
}

}  // namespace

ServerLink::ServerLink(zmq::context_t& context, const ServerAddress& server, const SecretKey* own)
    : socket_(context, zmq::socket_type::dealer), monitor_(context, zmq::socket_type::pair) {
  static std::atomic<std::uint64_t> count = 0;
  const std::string events = fmt::format("inproc://link-{}", ++count);
  socket_.set(zmq::sockopt::linger, server_linger_ms);
  socket_.set(zmq::sockopt::sndhwm, most_to_a_server);
  socket_.set(zmq::sockopt::rcvhwm, most_to_a_server);
  socket_.set(zmq::sockopt::reconnect_ivl, never_again_ms);
  if (!server.key.empty() && own) {
    socket_.set(zmq::sockopt::curve_secretkey, own->z85);
    socket_.set(zmq::sockopt::curve_publickey, own->public_z85);
    socket_.set(zmq::sockopt::curve_serverkey, read_public_key(server.key).z85);
  }
  constexpr int ends = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
  if (zmq_socket_monitor(socket_.handle(), events.c_str(), ends) != 0) throw zmq::error_t();
  monitor_.set(zmq::sockopt::linger, 0);
  monitor_.connect(events);
  socket_.connect(server.endpoint);
}

ServerLink::~ServerLink() {
  if (is_lost()) socket_.set(zmq::sockopt::linger, 0);
  zmq_socket_monitor(socket_.handle(), nullptr, 0);
}

bool ServerLink::send(zmq::message_t& message) {
  return socket_.send(message, zmq::send_flags::dontwait).has_value();
}
bool ServerLink::send(std::span<const std::byte> message) {
  return socket_.send(zmq::buffer(message.data(), message.size()), zmq::send_flags::dontwait).has_value();
}
bool ServerLink::receive(zmq::message_t& message) {
  return socket_.recv(message, zmq::recv_flags::dontwait).has_value();
}
bool ServerLink::has_message() {
  return (socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0;
}

bool ServerLink::is_lost() {
  return is_lost_ = is_lost_ || tells_of_end(monitor_);
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
