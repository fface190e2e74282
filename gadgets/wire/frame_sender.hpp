// Sends messages live over ZeroMQ, as they are: to one receiver, or to any number of monitors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/value/params.hpp"
#include "gadgets/wire/socket_guard.hpp"

namespace tofstream {

/// push connects to one receiver and waits for it; pub is connected to, and waits for nobody: who does not keep up
/// loses frames.
enum class SendPattern { push, pub };
constexpr auto enum_names(SendPattern) {
  return names(SendPattern::push, "push", SendPattern::pub, "pub");
}

class FrameSender {
 public:
  struct Settings {
    SendPattern pattern = SendPattern::push;
    std::string endpoint;
    KeyParams keys = {};
    int high_water_mark = 1000;  // frames that wait in ZeroMQ, for each monitor
    double linger_s = 60;        // how long, at the end, what waits is waited for; monitors, until they have left
    std::function<void(std::string_view)> warn = {};
    // push, where there is no receiver: says so every second once it has waited for `patience`, and says nothing ("")
    // when there is one again; and whether to go on waiting. Once it may not, it has given up, and sends no more.
    std::function<void(std::string_view)> say_waiting = {};
    std::function<bool()> may_wait = {};
    std::chrono::milliseconds patience{10'000};
  };
  /// The receiver may come later. Throws std::invalid_argument or std::runtime_error in one line for an endpoint or
  /// keys that cannot be used. From the stop on nobody waits, also not the destructor.
  explicit FrameSender(Settings settings, const std::stop_token& stop = {});
  /// Waits until what was sent has been taken, for at most `linger_s`.
  ~FrameSender();
  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  /// push waits for a receiver that has room; false at the stop, and where it has given up. Throws std::runtime_error in
  /// one line where the receiver refuses the keys. A stream's header is kept; pub sends it again to each new monitor.
  bool send(std::vector<std::byte> frame);
  /// The same without a copy: the bytes must outlive what is made of them.
  bool send_in_place(std::span<const std::byte> frame);

  /// push: a receiver was there, and none is now. The next one knows nothing of what was sent.
  bool has_lost_receiver() const;
  std::uint64_t refused_connections() const;
  /// Monitors that have joined so far, as often as they did.
  std::uint64_t subscriptions() const;

 private:
  class Sockets;
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
