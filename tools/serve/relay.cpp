// Messages of a client to a server and back: see relay.hpp.
#include "tools/serve/relay.hpp"

#include <algorithm>
#include <utility>

namespace tofstream::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds server_ping_pause{1};
constexpr std::size_t most_to_client = 2;  // that wait here for a client; more wait at the server

std::span<const std::byte> content_of(const zmq::message_t& message) {
  return {static_cast<const std::byte*>(message.data()), message.size()};
}

std::vector<std::string> refusal_lines(const Json& error) {
  std::vector<std::string> lines;
  for (const Json& line : error.value("errors", Json::array()))
    if (line.is_string()) lines.push_back(line.get<std::string>());
  return lines;
}

}  // namespace

Relay::Relay(std::string client, const zmq::message_t& hello)
    : client_(std::move(client)), hello_(content_of(hello).begin(), content_of(hello).end()) {
  pipeline_ = read_hello(read_message(hello_)).pipeline;
}

void Relay::open(zmq::context_t& context, const ServerAddress& server, const SecretKey* own) {
  refusal_.clear();
  to_client_.clear();
  link_.emplace(context, server, own);
  link_->send(hello_);
  server_heard_ = Clock::now();
  has_heard_ = false;
  state_ = State::asked;
}

void Relay::leave() {
  if (link_) link_->send(make_message(Kind::abort));
  link_.reset();
  to_server_.clear();
}

void Relay::end() {
  leave();
  refusal_.clear();
  state_ = State::over;
}

void Relay::vanish() {
  is_gone_ = true;
  to_client_.clear();
  end();
}

// It goes after what the server has said already.
void Relay::say(std::vector<std::byte> message) {
  to_client_.emplace_back(message.data(), message.size());
}

void Relay::fail(const std::vector<std::string>& why) {
  if (state_ == State::over) return;
  say(make_refusal(why, false));
  end();
}

void Relay::fail_run(const std::string& why) {
  if (state_ == State::over) return;
  const Json error{{"gadget", ""}, {"what", why}, {"where", ""}};
  say(make_json_message(Kind::done,
                        {{"pipeline", pipeline_}, {"outcome", "failed"}, {"exit_code", 1}, {"errors", {error}}}));
  end();
}

void Relay::take_from_client(Kind kind, zmq::message_t& bytes) {
  if (state_ == State::over) return;  // was under way when the run ended
  if (kind == Kind::abort) return vanish();
  if (kind == Kind::frame) {
    if (state_ != State::running) throw BadMessage("a frame before the run was accepted: wait for the credit");
    if (credit_ <= 0) throw BadMessage("more frames than the server has given credit for");
    credit_ -= static_cast<std::int64_t>(bytes.size() - message_header_bytes);
  } else if (kind != Kind::stop) {
    throw BadMessage("a message that only a server sends");
  } else if (state_ != State::running) {
    return fail({"the run was stopped before it began"});
  }
  to_server_.push_back(std::move(bytes));
}

void Relay::pump(FrontSocket& front) {
  read_server();
  write_server();
  write_client(front);
}

void Relay::read_server() {
  zmq::message_t message;
  while (link_ && !wants_another() && to_client_.size() < most_to_client && link_->receive(message)) {
    server_heard_ = Clock::now();
    has_heard_ = true;
    take_from_server(message);
  }
}

void Relay::take_from_server(zmq::message_t& bytes) try {
  const Message message = read_message(content_of(bytes));
  if (message.kind == Kind::pong) return;
  if (message.kind == Kind::credit) credit_ += static_cast<std::int64_t>(read_credit(message));
  if (message.kind == Kind::waiting || message.kind == Kind::accepted) {
    note(json_body(message));
    state_ = message.kind == Kind::waiting ? State::waiting : State::running;
  }
  if (message.kind == Kind::error && state_ != State::running) {
    const Json error = json_body(message);
    if (error.value("another_may", false)) refusal_ = refusal_lines(error);
    if (wants_another()) return;
  }
  const bool is_last = message.kind == Kind::error || message.kind == Kind::done;
  to_client_.push_back(std::move(bytes));
  if (!is_last) return;
  link_.reset();
  end();
} catch (const std::exception&) {  // BadMessage, or JSON that is not as it should be
  fail({"the server says something that no server of this version says: use one release at both ends"});
}

void Relay::note(const Json& introduction) {
  const auto bytes = [&](const char* name) {
    const auto found = introduction.find(name);
    return found != introduction.end() && found->is_number_unsigned() ? found->get<std::size_t>() : 0;
  };
  session_ = introduction.value("session", std::string());
  need_ = {.memory = bytes("memory_bytes"), .gpu = bytes("gpu_memory_bytes")};
  gpus_.clear();
  for (const Json& gpu : introduction.value("gpus", Json::array()))
    if (gpu.is_number_integer()) gpus_.push_back(gpu.get<int>());
}

void Relay::write_server() {
  if (!link_) return;
  while (!to_server_.empty() && link_->send(to_server_.front())) to_server_.pop_front();
  if (const auto now = Clock::now(); now - pinged_ >= server_ping_pause && link_->send(make_message(Kind::ping)))
    pinged_ = now;
}

void Relay::write_client(FrontSocket& front) {
  while (!to_client_.empty()) {
    const FrontSocket::Sent sent = front.send(client_, to_client_.front());
    if (sent == FrontSocket::Sent::full) return;
    to_client_.pop_front();
    if (sent == FrontSocket::Sent::gone) return vanish();
  }
}

bool Relay::is_lost(bool is_there, std::chrono::milliseconds patience) {
  if (!link_ || link_->has_message()) return false;
  return link_->is_lost() || Clock::now() - server_heard_ > patience || (!has_heard_ && !is_there);
}

std::optional<zmq::pollitem_t> Relay::poll_item() {
  if (!link_) return {};
  const int events = (to_client_.size() < most_to_client ? ZMQ_POLLIN : 0) | (to_server_.empty() ? 0 : ZMQ_POLLOUT);
  if (events == 0) return {};
  return link_->poll_item(static_cast<short>(events));
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
