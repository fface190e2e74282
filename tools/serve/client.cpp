// A DEALER socket, and a stream sent through it as far as the server grants credit: see client.hpp.
#include "tools/serve/client.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <zmq.hpp>

#include "gadgets/wire/wait_for_any.hpp"

namespace tofstream::serve {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds ping_pause{1000};
constexpr std::chrono::milliseconds interrupt_pause{100};  // between two looks for an interrupt
constexpr int most_waiting = 8;                            // that wait in ZeroMQ

std::string lines_of(const Json& errors) {
  std::vector<std::string> lines;
  for (const Json& line : errors)
    if (line.is_string()) lines.push_back(line.get<std::string>());
  return lines.empty() ? "it gave up without a word" : fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

struct Client::Connection {
  Connection(std::string name, const KeyParams& keys, std::chrono::milliseconds silence)
      : endpoint(std::move(name)),
        patience(silence),
        socket(zmq, zmq::socket_type::dealer),
        guard(zmq, socket, {.end = SocketEnd::connects, .endpoint = endpoint, .keys = keys, .warn = {}}) {
    socket.set(zmq::sockopt::linger, 1000);
    socket.set(zmq::sockopt::sndhwm, most_waiting);
    socket.set(zmq::sockopt::rcvhwm, most_waiting);
    socket.connect(endpoint);
  }

  [[noreturn]] void give_up() {
    socket.set(zmq::sockopt::linger, 0);
    throw NoServer(fmt::format(
        "no server answers at {}{}", endpoint,
        has_heard ? " any more: what it had is lost; send the stream again" : ": start one there, tofstream serve"));
  }

  // Waits for the socket until the deadline; true if there is a message, or room for one, as requested.
  bool wait(short what, Clock::time_point deadline) {
    guard.throw_if_refused();
    zmq::pollitem_t items[] = {{socket.handle(), 0, what, 0}, {nullptr, guard.refused_descriptor(), ZMQ_POLLIN, 0}};
    const auto now = Clock::now();
    const auto until = std::min({deadline, now + ping_pause, heard + patience});
    wait_for_any(items,
                 std::max(std::chrono::ceil<std::chrono::milliseconds>(until - now), std::chrono::milliseconds(0)));
    guard.throw_if_refused();
    return (items[0].revents & what) != 0;
  }

  bool has_news() { return (socket.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0; }

  void ping() {
    if (Clock::now() - pinged < ping_pause) return;
    const auto bytes = make_message(Kind::ping);
    if (socket.send(zmq::buffer(bytes.data(), bytes.size()), zmq::send_flags::dontwait)) pinged = Clock::now();
  }

  const std::string endpoint;
  const std::chrono::milliseconds patience;
  zmq::context_t zmq;
  zmq::socket_t socket;
  SocketGuard guard;
  zmq::message_t message;
  Clock::time_point heard = Clock::now(), pinged{};
  bool has_heard = false;
};

Client::Client(std::string endpoint, const KeyParams& keys, std::chrono::milliseconds patience)
    : connection_(std::make_unique<Connection>(std::move(endpoint), keys, patience)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

void Client::say(std::span<const std::byte> message) {
  Connection& c = *connection_;
  while (!c.socket.send(zmq::buffer(message.data(), message.size()), zmq::send_flags::dontwait)) {
    if (c.wait(ZMQ_POLLOUT, Clock::now() + interrupt_pause)) continue;
    if (c.has_news()) c.heard = Clock::now();  // and hear() will read it
    if (Clock::now() - c.heard >= c.patience) c.give_up();
  }
}

std::optional<Message> Client::hear(Clock::time_point deadline) {
  Connection& c = *connection_;
  for (;;) {
    c.ping();
    if (c.socket.recv(c.message, zmq::recv_flags::dontwait)) {
      c.heard = Clock::now();
      c.has_heard = true;
      const Message message = read_message({static_cast<const std::byte*>(c.message.data()), c.message.size()});
      if (message.kind != Kind::pong) return message;
      continue;
    }
    const auto now = Clock::now();
    if (now - c.heard >= c.patience) c.give_up();
    if (now >= deadline) return {};
    c.wait(ZMQ_POLLIN, deadline);
  }
}

Json Client::list() {
  say(make_message(Kind::list));
  for (;;)
    if (const auto message = hear(Clock::now() + interrupt_pause)) {
      if (message->kind == Kind::offer) return json_body(*message);
      if (message->kind == Kind::error) throw Refused(lines_of(json_body(*message)["errors"]));
    }
}

namespace {

class Conversation {
 public:
  Conversation(Client& client, const FrameReader& next, const Listener& listener)
      : client_(client), next_(next), listener_(listener) {}

  Json run(const Hello& hello, const std::stop_token& stop, const std::stop_token& abort) {
    client_.say(make_hello(hello));
    while (!is_done_) {
      if (abort.stop_requested()) {
        client_.say(make_message(Kind::abort));
        return nullptr;
      }
      if (stop.stop_requested() && !std::exchange(is_stopping_, true)) client_.say(make_message(Kind::stop));
      // A frame that is due goes at once; otherwise the server's next message is awaited.
      if (const auto message = client_.hear(send_what_is_due())) take(*message);
    }
    return std::move(run_json_);
  }

 private:
  // Sends what is due. Returns the time until which there is nothing to send.
  Clock::time_point send_what_is_due() {
    const auto now = Clock::now(), soon = now + interrupt_pause;
    if (credit_ <= 0 || is_stopping_ || is_at_end_) return soon;
    if (!frame_) frame_ = next_();
    if (!frame_) {
      is_at_end_ = true;
      return soon;
    }
    if (frame_->bytes.size() > largest_frame_)
      throw std::invalid_argument(
          fmt::format("a frame of {} bytes is more than the server takes, {}: shorter time "
                      "blocks are needed",
                      frame_->bytes.size(), largest_frame_));
    if (frame_->due > now) return std::min(frame_->due, soon);
    credit_ -= static_cast<std::int64_t>(frame_->bytes.size());
    client_.say(make_message(Kind::frame, frame_->bytes));
    frame_.reset();
    return now;
  }

  // What is said before the run is accepted is of an earlier one on this connection, which was dropped.
  bool is_of_earlier(Kind kind) const {
    return !is_accepted_ &&
           (kind == Kind::credit || kind == Kind::image || kind == Kind::progress || kind == Kind::done);
  }

  void take(const Message& message) try {
    if (is_of_earlier(message.kind)) return;
    switch (message.kind) {
      case Kind::waiting:
        if (listener_.on_waiting) listener_.on_waiting(json_body(message).value("place", std::size_t{0}));
        break;
      case Kind::accepted:
        is_accepted_ = true;
        largest_frame_ = json_body(message).value("largest_frame", largest_frame_);
        break;
      case Kind::credit:
        credit_ += static_cast<std::int64_t>(read_credit(message));
        break;
      case Kind::image:
        take_image(message);
        break;
      case Kind::progress:
        if (listener_.on_progress) listener_.on_progress(json_body(message));
        break;
      case Kind::error:
        throw Refused(lines_of(json_body(message)["errors"]));
      case Kind::done:
        run_json_ = json_body(message);
        is_done_ = true;
        break;
      default:
        break;
    }
  } catch (const Json::exception&) {
    throw BadMessage("the server says something that no server of this version says: use one release at both ends");
  }

  void take_image(const Message& message) {
    const ImageBody body = read_image_body(message);
    const auto decoded = wire::decode_image(body.image);
    if (const auto* bad = std::get_if<wire::BadImage>(&decoded)) throw BadMessage(bad->what);
    if (listener_.on_image) listener_.on_image(std::get<wire::ReceivedImage>(decoded), body.provenance);
  }

  Client& client_;
  const FrameReader& next_;
  const Listener& listener_;
  std::int64_t credit_ = 0;
  std::size_t largest_frame_ = std::numeric_limits<std::size_t>::max();
  std::optional<NextFrame> frame_;
  bool is_accepted_ = false, is_at_end_ = false, is_stopping_ = false, is_done_ = false;
  Json run_json_;
};

}  // namespace

Json reconstruct(Client& client, const Hello& hello, const FrameReader& next, const Listener& listener,
                 const std::stop_token& stop, const std::stop_token& abort) {
  return Conversation(client, next, listener).run(hello, stop, abort);
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
