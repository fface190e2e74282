// What `serve` and `dispatch` do once they are set up: signals stop them, Prometheus may ask, and they end by
// themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "tools/command/errors.hpp"
#include "tools/command/signal_watch.hpp"
#include "tools/watch/metrics.hpp"

namespace tofstream::command {

inline std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

/// Stands for the signals from before a server is made until it has ended; the first stops it, another aborts. One that
/// comes before the server is there stops it as soon as it is.
template <class Server>
class UntilStopped {
 public:
  /// `is_quiet`: nothing is printed.
  explicit UntilStopped(bool is_quiet = false)
      : is_quiet_(is_quiet),
        signals_(
            [this] {
              if (!is_quiet_)
                fmt::print(stderr, "\nstopping: no new clients; runs write what has arrived; again to abort\n");
              tell(&Server::request_stop);
            },
            [this] { tell(&Server::abort); }) {}

  /// Ends the command, where a signal came before there is a server to run.
  void throw_if_asked() {
    const std::lock_guard lock(mutex_);
    if (early_) throw ExitWith{0};
  }

  /// Runs it, with an endpoint for metrics where the settings name one. Throws InputError where that cannot be had;
  /// gives what `run` gives.
  template <class Run>
  auto run(Server& server, MetricsPages pages, const MetricsSettings& settings, const Run& run) {
    std::optional<MetricsEndpoint> metrics;
    if (!settings.address.empty()) from_input([&] { metrics.emplace(std::move(pages), settings); });
    if (metrics) fmt::print(stderr, "metrics: port {}\n", metrics->port());
    if (!is_quiet_) fmt::print(stderr, "serving at {}\n", server.endpoint());
    const Present present(*this, server);
    return run();
  }

 private:
  using Order = void (Server::*)();

  struct Present {
    Present(UntilStopped& of, Server& server) : of_(of) {
      const std::lock_guard lock(of_.mutex_);
      of_.running_ = &server;
      if (of_.early_) (server.*of_.early_)();
    }
    ~Present() {
      const std::lock_guard lock(of_.mutex_);
      of_.running_ = nullptr;
    }
    UntilStopped& of_;
  };

  void tell(Order order) {
    const std::lock_guard lock(mutex_);
    if (running_)
      (running_->*order)();
    else
      early_ = order;
  }

  const bool is_quiet_;
  std::mutex mutex_;
  Server* running_ = nullptr;
  Order early_ = nullptr;
  const SignalWatch signals_;  // last: it uses the rest
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
