// A stop token, or a signal from another thread, as a descriptor that wakes a poll() for a process or a socket at once.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <stop_token>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tofstream {

/// Readable while something written to it has not been read (eventfd).
class EventDescriptor {
 public:
  /// Throws std::runtime_error where the system has no descriptor left.
  EventDescriptor() : number_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (number_ < 0) throw std::runtime_error(fmt::format("no eventfd: {}", std::strerror(errno)));
  }
  ~EventDescriptor() { ::close(number_); }
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;

  int number() const { return number_; }
  void raise() const { ::eventfd_write(number_, 1); }
  void clear() const {
    eventfd_t ignored = 0;
    ::eventfd_read(number_, &ignored);
  }

 private:
  const int number_;
};

class StopDescriptor {
 public:
  /// Throws std::runtime_error where the system has no descriptor left.
  explicit StopDescriptor(const std::stop_token& stop) : on_stop_(stop, Raise{event_}) {}

  /// Readable from the stop on.
  int number() const { return event_.number(); }

 private:
  struct Raise {
    const EventDescriptor& event;
    void operator()() const { event.raise(); }
  };

  const EventDescriptor event_;
  const std::stop_callback<Raise> on_stop_;  // last member: destroyed before the descriptor is closed
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
