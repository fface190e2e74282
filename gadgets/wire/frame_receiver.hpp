// The end of ZeroMQ that messages come in at: bound for senders that push, or connected to one that publishes.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include <zmq.hpp>

#include "core/value/params.hpp"
#include "gadgets/io/wall_clock.hpp"
#include "gadgets/wire/raw_frame.hpp"
#include "gadgets/wire/socket_guard.hpp"

namespace tofstream {

enum class ReceivePattern { pull, sub };
constexpr auto enum_names(ReceivePattern) {
  return names(ReceivePattern::pull, "pull", ReceivePattern::sub, "sub");
}

class FrameReceiver {
 public:
  struct Settings {
    ReceivePattern pattern = ReceivePattern::pull;
    std::string endpoint;
    KeyParams keys = {};
    int high_water_mark = 64;    // messages that wait in ZeroMQ for each sender
    int largest_frame_mib = 64;  // a sender of a larger message is disconnected
    std::function<void(std::string_view)> warn = {};
  };
  /// Binds, or connects. Throws std::runtime_error or std::invalid_argument in one line where the endpoint or its keys
  /// cannot be used.
  explicit FrameReceiver(const Settings& settings);

  /// Gives `take` each message as it comes, on this thread, until the stop. Throws what `take` does, and
  /// std::runtime_error where the sender that this end is connected to refuses its keys.
  void receive(const std::stop_token& stop, const std::function<void(RawFrame)>& take);
  /// Tells the sender that a monitor leaves, for which it waits at its end.
  void leave();
  std::uint64_t refused_connections() const { return guard_.refused(); }

 private:
  void open(const Settings& settings);
  void receive_what_is_there(const std::stop_token& stop, const std::function<void(RawFrame)>& take);

  const bool is_monitor_;
  const StreamClock clock_;
  zmq::context_t zmq_;
  zmq::socket_t socket_;
  SocketGuard guard_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
