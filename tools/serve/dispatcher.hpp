// A server that reconstructs nothing: it speaks with clients as a server does, hands each one's run to a server behind
// it, and passes on what the two say (share/doc/fleet.md). What runs there are only the servers know.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/serve/front_socket.hpp"
#include "tools/serve/server_link.hpp"

namespace tofstream::serve {

struct DispatcherOptions {
  std::string endpoint = "tcp://127.0.0.1:5557";
  KeyParams keys;  // `own` for both sides, `allowed` of clients
  std::vector<ServerAddress> servers;
  std::chrono::milliseconds patience{10'000};        // with a silent client, and with a silent server
  std::chrono::milliseconds start_patience{10'000};  // with servers at the start
  std::size_t largest_frame = most_of_a_frame;       // a client that sends a longer one is disconnected
  bool is_one_host = false;  // the servers are those of one host's GPUs, and a run may use several of them
  std::function<void()> while_waiting = {};  // called while servers are waited for at the start; may throw
};

class Dispatcher {
 public:
  /// Binds, and waits for the servers: until each has answered, or one has and the others had some time. Throws
  /// std::runtime_error or std::invalid_argument, one line: the endpoint, keys, two servers of one address, one that is
  /// of another version, none that answers.
  explicit Dispatcher(DispatcherOptions options);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  const std::string& endpoint() const;

  /// Serves until it is stopped and every client's run has ended.
  void run();
  /// May be called from any thread. The first call turns new and waiting clients away and stops the runs, whose
  /// clients get what has arrived; the second drops the runs.
  void request_stop();
  void abort();

  /// From any thread: what Prometheus asks for; whether a client that comes now is served; and whether it goes on.
  std::string metrics() const;
  bool is_ready() const;
  bool is_live() const { return true; }

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
