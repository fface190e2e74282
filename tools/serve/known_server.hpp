// What a dispatcher knows of a server behind it, by asking it twice a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include "gadgets/wire/socket_guard.hpp"
#include "tools/serve/health.hpp"
#include "tools/serve/server_link.hpp"

namespace tofstream::serve {

/// Used by one thread.
class KnownServer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins to connect. `own_key`: this end's secret key, a file; used where the server has a key. A server that says
  /// nothing for `patience` is taken for gone. Throws std::runtime_error or std::invalid_argument, one line.
  KnownServer(ServerAddress address, std::filesystem::path own_key, std::chrono::milliseconds patience);

  const ServerAddress& address() const { return address_; }
  const std::string& name() const { return address_.name.empty() ? address_.endpoint : address_.name; }

  /// Takes its answers and asks again. Call it often. True if something has changed.
  bool look();
  zmq::pollitem_t poll_item() { return {connection_->socket.handle(), 0, ZMQ_POLLIN, 0}; }

  /// It answers, and is of this program's version.
  bool is_there() const { return health_.has_value(); }
  /// Its places as it last told; none while it is not there.
  const std::vector<Place>& places() const { return health_ ? health_->places : nowhere_; }
  const Health* health() const { return health_ ? &*health_ : nullptr; }
  /// Why it is not there, in words that follow its name: "does not answer".
  const std::string& why_not() const { return why_not_; }
  /// What it answers makes plain that it can never be used.
  bool is_wrong() const { return is_wrong_; }

  /// What it says from now on was asked after this moment.
  std::uint64_t moment() const { return asked_ + 1; }
  bool has_told_since(std::uint64_t moment) const { return told_ >= moment; }
  void ask_soon() { is_pressing_ = true; }

  /// Asks for its offer; then there is none until it has answered.
  void ask_offer();
  const nlohmann::ordered_json* offer() const { return offer_.is_null() ? nullptr : &offer_; }

 private:
  struct Connection {
    Connection(const ServerAddress& server, const std::filesystem::path& own_key);
    zmq::context_t zmq;
    zmq::socket_t socket;
    SocketGuard guard;
  };

  void connect();
  void ask();
  bool receive();
  void take(const zmq::message_t& bytes);
  void take_health(const nlohmann::ordered_json& json);
  bool lose(std::string why);

  const ServerAddress address_;
  const std::filesystem::path own_key_;
  const std::chrono::milliseconds patience_;
  std::unique_ptr<Connection> connection_;
  std::optional<Health> health_;
  const std::vector<Place> nowhere_;
  std::string why_not_ = "does not answer";
  bool is_wrong_ = false, is_pressing_ = false;
  std::uint64_t asked_ = 0, told_ = 0;
  Clock::time_point heard_ = Clock::now(), asked_at_{}, connected_at_{};
  nlohmann::ordered_json offer_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
