// A connection over which a server is asked for its health: see known_server.hpp.
#include "tools/serve/known_server.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/base/printable.hpp"
#include "core/base/version.hpp"
#include "tools/serve/protocol.hpp"

namespace tofstream::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds between_questions{500};
constexpr std::chrono::milliseconds least_between_questions{20};
constexpr std::chrono::seconds until_next_connection{5};  // to a server that refuses this end
constexpr int most_questions = 8;
constexpr std::int64_t longest_answer = std::int64_t{16} << 20;

KeyParams keys_of(const ServerAddress& server, const std::filesystem::path& own_key) {
  return server.key.empty() ? KeyParams{} : KeyParams{.own = own_key, .server = server.key};
}

}  // namespace

KnownServer::Connection::Connection(const ServerAddress& server, const std::filesystem::path& own_key)
    : socket(zmq, zmq::socket_type::dealer),
      guard(zmq, socket,
            {.end = SocketEnd::connects, .endpoint = server.endpoint, .keys = keys_of(server, own_key), .warn = {}}) {
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::sndhwm, most_questions);
  socket.set(zmq::sockopt::rcvhwm, most_questions);
  socket.set(zmq::sockopt::maxmsgsize, longest_answer);
  socket.set(zmq::sockopt::immediate, true);  // what nobody takes does not wait for who comes later
  try {
    socket.connect(server.endpoint);
  } catch (const zmq::error_t& error) {
    throw std::invalid_argument(
        fmt::format("cannot connect to {}: {}; write tcp://HOST:PORT", server.endpoint, error.what()));
  }
}

KnownServer::KnownServer(ServerAddress address, std::filesystem::path own_key, std::chrono::milliseconds patience)
    : address_(std::move(address)), own_key_(std::move(own_key)), patience_(patience) {
  connect();
}

void KnownServer::connect() {
  connection_.reset();
  connection_ = std::make_unique<Connection>(address_, own_key_);
  connected_at_ = heard_ = Clock::now();
  asked_at_ = {};
}

bool KnownServer::look() try {
  const bool has_heard = receive();
  connection_->guard.throw_if_refused();
  if (const auto now = Clock::now(); health_ && (connection_->guard.has_left() || now - heard_ > patience_))
    return lose(connection_->guard.has_left() ? "has gone" : "does not answer any more");
  ask();
  return has_heard;
} catch (const std::exception& error) {
  const bool is_new = lose(one_line(error.what()));
  is_wrong_ = true;
  if (Clock::now() - connected_at_ > until_next_connection) connect();
  return is_new;
}

// What was asked and not answered will not be.
bool KnownServer::lose(std::string why) {
  const bool is_new = health_ || why_not_ != why;
  health_.reset();
  offer_ = nullptr;
  told_ = asked_;
  why_not_ = std::move(why);
  return is_new;
}

// One question at a time, so that answers are told apart by their number.
void KnownServer::ask() {
  const auto now = Clock::now();
  const bool is_answered = told_ == asked_;
  if (now - asked_at_ < (!is_answered ? patience_ : is_pressing_ ? least_between_questions : between_questions)) return;
  const auto question = make_message(Kind::ask_health);
  if (!connection_->socket.send(zmq::buffer(question.data(), question.size()), zmq::send_flags::dontwait)) return;
  asked_at_ = now;
  is_pressing_ = false;
  ++asked_;
}

void KnownServer::ask_offer() {
  offer_ = nullptr;
  const auto question = make_message(Kind::list);
  connection_->socket.send(zmq::buffer(question.data(), question.size()), zmq::send_flags::dontwait);
}

bool KnownServer::receive() {
  zmq::message_t message;
  bool has_heard = false;
  while (connection_->socket.recv(message, zmq::recv_flags::dontwait)) {
    heard_ = Clock::now();
    has_heard = true;
    take(message);
  }
  return has_heard;
}

void KnownServer::take(const zmq::message_t& bytes) {
  const Message message = read_message({static_cast<const std::byte*>(bytes.data()), bytes.size()});
  if (message.kind == Kind::health) return take_health(json_body(message));
  if (message.kind == Kind::offer) offer_ = json_body(message);
  // A server that does not know the question calls it a message of a kind that there is not.
  if (message.kind == Kind::error)
    throw BadMessage("does not say how it is: it is of an older release; use one release at both ends");
}

void KnownServer::take_health(const Json& json) {
  Health health = read_health(json);
  told_ = asked_;
  if (health.version != version())
    throw BadMessage(fmt::format("is tofstream {}, and this is {}: use one release at both ends",
                                 printable(health.version), version()));
  health_ = std::move(health);
  is_wrong_ = false;
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
