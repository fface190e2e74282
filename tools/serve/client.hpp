// The other end of a server's connection.
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

/// Nobody answers, or no longer.
struct NoServer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the server says is wrong, a line each; none of it is this side's doing.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Client {
 public:
  /// Throws std::invalid_argument or std::runtime_error in one line for an endpoint or keys that are no good. A server
  /// that says nothing for `patience` is gone.
  Client(std::string endpoint, const KeyParams& keys, std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Queues a message; pings go by themselves while one waits. Throws NoServer.
  void say(std::span<const std::byte> message);
  /// The next message, waiting for it until then; none at the deadline. Its bytes hold until the next call. Throws
  /// NoServer, and BadMessage where the server speaks otherwise.
  std::optional<Message> hear(std::chrono::steady_clock::time_point deadline);
  /// What the server offers, and its sessions. Throws NoServer.
  nlohmann::ordered_json list();

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

/// Who wants to know how a stream's reconstruction goes. Each may be empty.
struct Listener {
  std::function<void(std::size_t place)> on_waiting;
  std::function<void(const nlohmann::ordered_json&)> on_progress;
  std::function<void(const wire::ReceivedImage&, std::string_view provenance)> on_image;
};

/// The next frame of what is sent, or none at its end; and when it is due.
struct NextFrame {
  std::vector<std::byte> bytes;
  std::chrono::steady_clock::time_point due{};
};
using FrameReader = std::function<std::optional<NextFrame>()>;

/// Has a stream reconstructed, and returns the server's run.json. `stop`: what has been sent is reconstructed, and the
/// run ends; `abort`: the run is dropped, and null is returned. Throws NoServer; Refused, where the server takes the
/// run not or no longer; BadMessage; and what the reader throws.
nlohmann::ordered_json reconstruct(Client& client, const Hello& hello, const FrameReader& next,
                                   const Listener& listener, const std::stop_token& stop = {},
                                   const std::stop_token& abort = {});

}  // namespace tofstream::serve
