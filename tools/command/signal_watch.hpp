// SIGINT and SIGTERM as calls on a thread of ours.
#pragma once

#include <csignal>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

namespace tofstream::command {

class SignalWatch {
 public:
  /// The first signal calls `first`, each further one `again`. Signals are blocked in this thread and in those that it
  /// makes from now on; so this is made before any other.
  SignalWatch(std::function<void()> first, std::function<void()> again)
      : first_(std::move(first)), again_(std::move(again)) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

 private:
  void watch(const std::stop_token& stop) const {
    for (bool is_first = true; !stop.stop_requested();) {
      constexpr timespec moment{0, 100'000'000};
      if (sigtimedwait(&signals_, nullptr, &moment) < 0) continue;
      (std::exchange(is_first, false) ? first_ : again_)();
    }
  }

  const std::function<void()> first_, again_;
  sigset_t signals_{};
  std::jthread thread_;
};

}  // namespace tofstream::command
