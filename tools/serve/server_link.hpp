// A dispatcher's connection to a server for one client's run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <zmq.hpp>

#include "gadgets/wire/key_files.hpp"

namespace tofstream::serve {

/// A server behind a dispatcher.
struct ServerAddress {
  std::string endpoint;
  std::filesystem::path key = {};  // its public key; empty: none, as within one machine
  std::string name = {};           // what it is called in messages; empty: as its endpoint
};

/// Never connects again: a server that was gone has lost the run. Used by one thread.
class ServerLink {
 public:
  /// Begins to connect. `own`: the secret key of this end, or null. Throws std::runtime_error, in one line.
  ServerLink(zmq::context_t& context, const ServerAddress& server, const SecretKey* own);
  /// What was sent still goes out, for a second, unless the server is lost.
  ~ServerLink();
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  /// Takes the message's content where there is room for it; else false.
  bool send(zmq::message_t& message);
  bool send(std::span<const std::byte> message);
  bool receive(zmq::message_t& message);
  bool has_message();

  /// The connection could not be made, or has ended.
  bool is_lost();

  zmq::pollitem_t poll_item(short events) { return {socket_.handle(), 0, events, 0}; }

 private:
  zmq::socket_t socket_, monitor_;
  bool is_lost_ = false;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
