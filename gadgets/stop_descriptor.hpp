// A stop token as a descriptor, for who waits in poll() for a process or a socket: it wakes at once.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <stop_token>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tofstream {

class StopDescriptor {
 public:
  /// Throws std::runtime_error where the system has no descriptor left.
  explicit StopDescriptor(const std::stop_token& stop)
      : event_{::eventfd(0, EFD_CLOEXEC)}, on_stop_(stop, Raise{event_.number}) {}

  /// Readable from the stop on, for good.
  int number() const { return event_.number; }

 private:
  struct Event {
    explicit Event(int descriptor) : number(descriptor) {
      if (number < 0) throw std::runtime_error(fmt::format("no eventfd: {}", std::strerror(errno)));
    }
    ~Event() { ::close(number); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    const int number;
  };
  struct Raise {
    int number;
    void operator()() const { ::eventfd_write(number, 1); }
  };

  const Event event_;
  const std::stop_callback<Raise> on_stop_;  // last: gone before the descriptor is closed
};

}  // namespace tofstream
