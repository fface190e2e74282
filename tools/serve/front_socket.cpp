// A ROUTER socket: see front_socket.hpp.
#include "tools/serve/front_socket.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/log.hpp"
#include "tools/serve/protocol.hpp"

namespace tofstream::serve {

namespace {

constexpr int client_linger_ms = 1000;  // so that each client gets its last message
constexpr int most_to_a_client = 8;     // that wait in ZeroMQ for a client; an image may be one of them
constexpr int most_frames = 2;          // that wait there from a client: they are taken at once

// Each connection takes a descriptor, even a silent one.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// ZeroMQ takes a socket of ipc over from whoever listens there, who then hears of no client any more.
void require_free(const std::string& endpoint) {
  constexpr std::string_view ipc = "ipc://";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!endpoint.starts_with(ipc) || endpoint.size() - ipc.size() >= sizeof address.sun_path) return;
  std::ranges::copy(endpoint.substr(ipc.size()), address.sun_path);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is_taken = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  if (is_taken)
    throw std::runtime_error(
        fmt::format("cannot serve at {}: another program listens there; name another endpoint", endpoint));
}

}  // namespace

FrontSocket::FrontSocket(const FrontSettings& settings)
    : socket_(zmq_, zmq::socket_type::router),
      guard_(zmq_, socket_,
             {.end = SocketEnd::binds,
              .endpoint = settings.endpoint,
              .keys = settings.keys,
              .warn = [](std::string_view text) { program_log().warn("{}", text); },
              .largest_message = settings.largest_frame + message_header_bytes}) {
  require_free(settings.endpoint);
  raise_descriptor_limit();
  const auto patience_ms = static_cast<int>(settings.patience.count());
  socket_.set(zmq::sockopt::router_mandatory, true);  // sending to a client that is gone is an error
  socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(settings.largest_frame + message_header_bytes));
  socket_.set(zmq::sockopt::sndhwm, most_to_a_client);
  socket_.set(zmq::sockopt::rcvhwm, most_frames);
  socket_.set(zmq::sockopt::linger, client_linger_ms);
  socket_.set(zmq::sockopt::handshake_ivl, patience_ms);
  socket_.set(zmq::sockopt::heartbeat_ivl, patience_ms);  // a machine that is gone does not close its connection
  socket_.set(zmq::sockopt::heartbeat_timeout, patience_ms);
  socket_.set(zmq::sockopt::backlog, 1024);
  try {
    socket_.bind(settings.endpoint);
  } catch (const zmq::error_t& error) {
    throw std::runtime_error(
        fmt::format("cannot serve at {}: {}; name another endpoint where another program listens there",
                    settings.endpoint, error.what()));
  }
  endpoint_ = socket_.get(zmq::sockopt::last_endpoint);
}

FrontSocket::Sent FrontSocket::send(const std::string& client, std::span<const std::byte> message) {
  zmq::message_t copy(message.data(), message.size());
  return send(client, copy);
}

FrontSocket::Sent FrontSocket::send(const std::string& client, zmq::message_t& message) {
  try {
    const auto flags = zmq::send_flags::dontwait | zmq::send_flags::sndmore;
    if (!socket_.send(zmq::buffer(client), flags)) return Sent::full;
    socket_.send(message, zmq::send_flags::dontwait);
    return Sent::yes;
  } catch (const zmq::error_t& error) {
    if (error.num() != EHOSTUNREACH) throw;
    return Sent::gone;
  }
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
