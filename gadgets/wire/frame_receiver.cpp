// Messages that come in over ZeroMQ: see frame_receiver.hpp.
#include "gadgets/wire/frame_receiver.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/wait_for_any.hpp"

namespace tofstream {

FrameReceiver::FrameReceiver(const Settings& settings)
    : is_monitor_(settings.pattern == ReceivePattern::sub),
      socket_(zmq_, is_monitor_ ? zmq::socket_type::sub : zmq::socket_type::pull),
      guard_(zmq_, socket_,
             {.end = is_monitor_ ? SocketEnd::connects : SocketEnd::binds,
              .endpoint = settings.endpoint,
              .keys = settings.keys,
              .warn = settings.warn,
              .largest_message = std::uint64_t(settings.largest_frame_mib) << 20}) {
  // Over a Unix socket libzmq loses what a sender that has ended left in the kernel, where the receiver is at its
  // high-water mark then (libzmq issue 4660, also in 4.3.4): there is none. What receives waits for nobody.
  socket_.set(zmq::sockopt::rcvhwm, settings.endpoint.starts_with("ipc://") ? 0 : settings.high_water_mark);
  socket_.set(zmq::sockopt::maxmsgsize, std::int64_t{settings.largest_frame_mib} << 20);
  socket_.set(zmq::sockopt::linger, 0);
  open(settings);
}

void FrameReceiver::open(const Settings& settings) {
  try {
    if (is_monitor_) {
      socket_.set(zmq::sockopt::subscribe, "");
      socket_.connect(settings.endpoint);
    } else {
      socket_.bind(settings.endpoint);
    }
  } catch (const zmq::error_t& error) {
    throw std::runtime_error(
        fmt::format("cannot receive at {}: {}; name another endpoint where another program "
                    "receives there",
                    settings.endpoint, error.what()));
  }
}

void FrameReceiver::receive(const std::stop_token& stop, const std::function<void(RawFrame)>& take) {
  const StopDescriptor stopped(stop);
  while (!stop.stop_requested()) {
    zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0},
                               {nullptr, guard_.refused_descriptor(), ZMQ_POLLIN, 0},
                               {nullptr, stopped.number(), ZMQ_POLLIN, 0}};
    wait_for_any(items, guard_.longest_wait());
    guard_.throw_if_refused();
    guard_.look();
    receive_what_is_there(stop, take);
    if (!stop.stop_requested()) guard_.cut_unfinished();
  }
}

void FrameReceiver::receive_what_is_there(const std::stop_token& stop, const std::function<void(RawFrame)>& take) {
  zmq::message_t message;
  while (!stop.stop_requested() && socket_.recv(message, zmq::recv_flags::dontwait)) {
    guard_.took(message);
    const auto owner = std::make_shared<const zmq::message_t>(std::move(message));
    const auto now = std::chrono::steady_clock::now();
    take(RawFrame{.owner = owner,
                  .data = {static_cast<const std::byte*>(owner->data()), owner->size()},
                  .ingress_ns = clock_.ns(now),
                  .entered = now});
  }
}

void FrameReceiver::leave() {
  if (is_monitor_) socket_.set(zmq::sockopt::unsubscribe, "");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
