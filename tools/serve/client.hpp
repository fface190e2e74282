// The client's end of a connection to a server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gadgets/io/wire/image.hpp"
#include "gadgets/wire/socket_guard.hpp"
#include "tools/serve/protocol.hpp"

namespace tofstream::serve {

/// The server does not answer, or no longer.
struct NoServer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The server refuses, with a line for each reason.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Client {
 public:
  /// Throws std::invalid_argument or std::runtime_error, one line, for a bad endpoint or bad keys. A server that is
  /// silent for `patience` counts as gone.
  Client(std::string endpoint, const KeyParams& keys, std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Queues a message; pings are sent while waiting. Throws NoServer.
  void say(std::span<const std::byte> message);
  /// Waits for the next message until the deadline; none if there is none by then. Its bytes are valid until the next
  /// call. Throws NoServer, and BadMessage if the server does not follow the protocol.
  std::optional<Message> hear(std::chrono::steady_clock::time_point deadline);
  /// What the server offers, and its sessions. Throws NoServer.
  nlohmann::ordered_json list();

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

/// Called as a stream's reconstruction proceeds. Each may be empty.
struct Listener {
  std::function<void(std::size_t place)> on_waiting;
  std::function<void(const nlohmann::ordered_json&)> on_progress;
  std::function<void(const wire::ReceivedImage&, std::string_view provenance)> on_image;
};

/// The next frame to send, and when it is due; none at the end.
struct NextFrame {
  std::vector<std::byte> bytes;
  std::chrono::steady_clock::time_point due{};
};
using FrameReader = std::function<std::optional<NextFrame>()>;

/// Has a stream reconstructed and returns the server's run.json. `stop`: what was sent is reconstructed and the run
/// ends; `abort`: the run is dropped and null is returned. Throws NoServer; Refused, if the server does not take the
/// run or gives it up; BadMessage; and what the reader throws.
nlohmann::ordered_json reconstruct(Client& client, const Hello& hello, const FrameReader& next,
                                   const Listener& listener, const std::stop_token& stop = {},
                                   const std::stop_token& abort = {});

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
