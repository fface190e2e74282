// SIGINT and SIGTERM as calls on a thread of ours.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "gadgets/stop_descriptor.hpp"

namespace tofstream::command {

class SignalWatch {
 public:
  /// The first signal calls `first`, each further one `again`. Signals are blocked in this thread and in those that it
  /// makes from now on; so this is made before any other. Throws std::runtime_error where the system has no descriptor
  /// left.
  SignalWatch(std::function<void()> first, std::function<void()> again)
      : first_(std::move(first)), again_(std::move(again)), signals_(descriptor_of_signals()) {
    thread_ = std::jthread([this] { watch(); });
  }
  ~SignalWatch() {
    ended_.raise();  // and no later: who has nothing left to do waits for this thread
    thread_.join();
    ::close(signals_);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  static int descriptor_of_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    const int number = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (number < 0) throw std::runtime_error(fmt::format("no signalfd: {}", std::strerror(errno)));
    return number;
  }

  void watch() const {
    pollfd news[] = {{signals_, POLLIN, 0}, {ended_.number(), POLLIN, 0}};
    for (bool is_first = true; !(news[1].revents & POLLIN);) {
      if (::poll(news, 2, -1) < 0) continue;
      signalfd_siginfo signal;
      if (::read(signals_, &signal, sizeof signal) == sizeof signal)
        (std::exchange(is_first, false) ? first_ : again_)();
    }
  }

  const std::function<void()> first_, again_;
  const int signals_;
  const EventDescriptor ended_;
  std::jthread thread_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
