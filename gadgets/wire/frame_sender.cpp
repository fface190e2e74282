// Frames to receivers and monitors: see frame_sender.hpp.
#include "gadgets/wire/frame_sender.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <zmq.hpp>

#include "gadgets/io/wire/frame.hpp"
#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/wait_for_any.hpp"

namespace tofstream {

using Clock = std::chrono::steady_clock;

class FrameSender::Sockets {
 public:
  Sockets(Settings settings, const std::stop_token& stop)
      : settings_(std::move(settings)),
        stop_(stop),
        stopped_(stop),
        socket_(context_, is_pub() ? zmq::socket_type::xpub : zmq::socket_type::push),
        guard_(context_, socket_,
               {.end = is_pub() ? SocketEnd::binds : SocketEnd::connects,
                .endpoint = settings_.endpoint,
                .keys = settings_.keys,
                .warn = settings_.warn}) {
    socket_.set(zmq::sockopt::sndhwm, settings_.high_water_mark);
    socket_.set(zmq::sockopt::linger, static_cast<int>(1000 * settings_.linger_s));
    if (is_pub())
      bind();
    else
      connect();
  }
  ~Sockets() {
    if (stop_.stop_requested() || has_given_up_) socket_.set(zmq::sockopt::linger, 0);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  bool send(zmq::message_t message) {
    if (is_pub()) return publish(std::move(message));
    constexpr std::chrono::milliseconds between_looks{100};
    const auto began = Clock::now();
    Saying saying(settings_, began);
    while (!has_given_up_ && !socket_.send(message, zmq::send_flags::dontwait)) {
      guard_.throw_if_refused();
      if (stop_.stop_requested()) return false;
      const bool is_alone = !guard_.is_connected();
      has_given_up_ = is_alone && settings_.may_wait && !settings_.may_wait();
      saying.look(is_alone);
      if (!has_given_up_) wait_for(ZMQ_POLLOUT, between_looks);
    }
    return !has_given_up_;
  }

  bool has_lost_receiver() const { return !is_pub() && guard_.has_left(); }
  std::uint64_t refused_connections() const { return guard_.refused(); }
  std::uint64_t subscriptions() const { return subscriptions_; }

 private:
  // What is said of one wait for a receiver.
  class Saying {
   public:
    Saying(const Settings& settings, Clock::time_point began) : settings_(settings), began_(began) {}
    ~Saying() {
      if (is_said_) settings_.say_waiting("");
    }
    Saying(const Saying&) = delete;
    Saying& operator=(const Saying&) = delete;

    void look(bool is_alone) {
      const auto waited = std::chrono::floor<std::chrono::seconds>(Clock::now() - began_);
      if (!is_alone || !settings_.say_waiting || Clock::now() - began_ < settings_.patience || waited == said_) return;
      said_ = waited;
      const std::string words = fmt::format("no receiver at {} for {} s; waiting (Ctrl-C ends)", settings_.endpoint,
                                            std::max(waited.count(), std::chrono::seconds::rep{1}));
      settings_.say_waiting(words);
      if (!std::exchange(is_said_, true) && settings_.warn) settings_.warn(words);
    }

   private:
    const Settings& settings_;
    const Clock::time_point began_;
    std::chrono::seconds said_{-1};
    bool is_said_ = false;
  };

  bool is_pub() const { return settings_.pattern == SendPattern::pub; }

  void connect() {
    socket_.set(zmq::sockopt::immediate, true);  // without a receiver nothing is queued
    try {
      socket_.connect(settings_.endpoint);
    } catch (const zmq::error_t& error) {
      throw std::runtime_error(
          fmt::format("cannot send to {}: {}; write tcp://HOST:PORT", settings_.endpoint, error.what()));
    }
  }

  void bind() {
    socket_.set(zmq::sockopt::xpub_verboser, true);  // each monitor is told that comes or goes
    try {
      socket_.bind(settings_.endpoint);
    } catch (const zmq::error_t& error) {
      throw std::runtime_error(
          fmt::format("cannot send at {}: {}; name another endpoint where another program is there", settings_.endpoint,
                      error.what()));
    }
  }

  // Never waits, but for the end of the stream: without it monitors would not end.
  bool publish(zmq::message_t message) {
    const std::span bytes(message.data<std::byte>(), message.size());
    const auto header = wire::peek_header(bytes);
    const auto kind = header ? header->kind : wire::FrameKind::data;
    if (kind == wire::FrameKind::stream_header) header_.assign(bytes.begin(), bytes.end());
    greet();
    if (kind == wire::FrameKind::end) return publish_end(message);
    socket_.send(message, zmq::send_flags::dontwait);
    return !stop_.stop_requested();
  }

  // Who joins gets the stream's header, which the others have: to them it is no duplicate.
  void greet() {
    zmq::message_t asked;
    while (socket_.recv(asked, zmq::recv_flags::dontwait)) {
      if (asked.empty()) continue;
      const bool has_come = *asked.data<char>() == 1;
      present_ += has_come ? 1 : -1;
      if (!has_come) continue;
      ++subscriptions_;
      if (!header_.empty()) socket_.send(zmq::buffer(header_), zmq::send_flags::dontwait);
    }
  }

  // A monitor without room loses the end too, and libzmq does not say whose: it is sent until all have left.
  bool publish_end(const zmq::message_t& message) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(settings_.linger_s);
    do {
      zmq::message_t copy(message.data(), message.size());
      socket_.send(copy, zmq::send_flags::dontwait);
      wait_for(ZMQ_POLLIN, std::chrono::milliseconds(present_ > 0 ? 50 : 0));
      greet();
    } while (present_ > 0 && !stop_.stop_requested() && Clock::now() < deadline);
    socket_.set(zmq::sockopt::linger, 0);
    return present_ == 0;
  }

  void wait_for(short events, std::chrono::milliseconds longest) {
    zmq::pollitem_t items[] = {{nullptr, guard_.refused_descriptor(), ZMQ_POLLIN, 0},
                               {nullptr, stopped_.number(), ZMQ_POLLIN, 0},
                               {socket_.handle(), 0, events, 0}};
    wait_for_any(items, longest);
  }

  const Settings settings_;
  const std::stop_token stop_;
  const StopDescriptor stopped_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  SocketGuard guard_;
  std::vector<std::byte> header_;  // of the stream, as a frame
  std::uint64_t subscriptions_ = 0;
  std::int64_t present_ = 0;  // monitors
  bool has_given_up_ = false;
};

FrameSender::FrameSender(Settings settings, const std::stop_token& stop)
    : sockets_(std::make_unique<Sockets>(std::move(settings), stop)) {}

FrameSender::~FrameSender() = default;

bool FrameSender::send(std::vector<std::byte> frame) {
  auto owner = std::make_unique<std::vector<std::byte>>(std::move(frame));
  const auto let_go = [](void*, void* hint) { delete static_cast<std::vector<std::byte>*>(hint); };
  zmq::message_t message(owner->data(), owner->size(), let_go, owner.get());
  static_cast<void>(owner.release());  // the message's now
  return sockets_->send(std::move(message));
}

bool FrameSender::send_in_place(std::span<const std::byte> frame) {
  const auto keep = [](void*, void*) {};
  return sockets_->send(zmq::message_t(const_cast<std::byte*>(frame.data()), frame.size(), keep));
}

bool FrameSender::has_lost_receiver() const {
  return sockets_->has_lost_receiver();
}

std::uint64_t FrameSender::refused_connections() const {
  return sockets_->refused_connections();
}

std::uint64_t FrameSender::subscriptions() const {
  return sockets_->subscriptions();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
