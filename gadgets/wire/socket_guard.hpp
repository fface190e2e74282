// Who may talk through a ZeroMQ socket: its endpoint, CURVE keys of both ends, what becomes of connections that fail to
// shake hands, and of those whose messages never end.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/value/params.hpp"

namespace zmq {
class context_t;
class message_t;
class socket_t;
}  // namespace zmq

namespace tofstream {

/// `keys: {own: FILE, server: FILE}` of who connects, `keys: {own: FILE, allowed: FOLDER}` of who binds.
struct KeyParams {
  std::filesystem::path own, server, allowed;
  static constexpr auto params = describe(
      param<&KeyParams::own>("own", reads_file, "This end's secret key, NAME.secret.yaml of 'tofstream keys new'"),
      param<&KeyParams::server>("server", reads_file, "For the end that connects: the public key of the other end"),
      param<&KeyParams::allowed>(
          "allowed", reads_file,
          "For the end that others connect to: the public key that may connect, or a folder of such keys"));
  bool any() const { return !own.empty() || !server.empty() || !allowed.empty(); }
};

inline constexpr auto* key_words =
    "Encrypts, and lets only known keys connect; needed where the endpoint is open to the network";

enum class SocketEnd { binds, connects };

/// Lives shorter than its socket, which it guards from before its bind or connect. It has a thread of its own, which
/// answers for the keys (ZeroMQ RFC 27) and hears of handshakes that fail; one guard of a bound socket a ZeroMQ
/// context.
class SocketGuard {
 public:
  struct Settings {
    SocketEnd end = SocketEnd::binds;
    std::string endpoint;
    KeyParams keys;
    std::function<void(std::string_view)> warn;  // from the guard's thread or the receiving one; once a kind of failure
    std::uint64_t largest_message = 0;  // bytes that may come in one; 0: nothing comes in, or nothing is bounded
  };
  /// Throws std::invalid_argument or std::runtime_error in one line where the endpoint is no good, is open to the
  /// network without keys, or keys are missing or cannot be read.
  SocketGuard(zmq::context_t& context, zmq::socket_t& socket, Settings settings);
  ~SocketGuard();
  SocketGuard(const SocketGuard&) = delete;
  SocketGuard& operator=(const SocketGuard&) = delete;

  /// Connections so far whose handshake failed, of unknown keys, of none, or of what is no ZeroMQ, or which were cut
  /// since their message had no end.
  std::uint64_t refused() const;
  /// For the end that connects: the other end is there, and has shaken hands.
  bool is_connected() const;
  /// It was there, and is not any more.
  bool has_left() const;
  /// A descriptor that is readable once the other end has refused this one, which connects; it refuses for good. Then
  /// throw_if_refused() throws std::runtime_error, in one line.
  int refused_descriptor() const;
  void throw_if_refused() const;

  /// For the thread that receives (unfinished_messages.hpp): before what is there is received; each message; and once
  /// there is no more. In between it waits for this long at most.
  void look();
  void took(zmq::message_t& message);
  void cut_unfinished();
  std::chrono::milliseconds longest_wait() const;

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
