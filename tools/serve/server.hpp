// A long-lived reconstruction server: clients connect, name a pipeline or send one, send their stream, and receive
// images and progress on the same connection (share/doc/server.md). One thread speaks with all of them; each client's
// run is an engine of its own in this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gadgets/wire/socket_guard.hpp"
#include "tools/serve/front_socket.hpp"
#include "tools/serve/permissions.hpp"
#include "tools/serve/run_limits.hpp"

namespace tofstream::serve {

struct ServerOptions {
  std::string endpoint = "tcp://127.0.0.1:5557";
  KeyParams keys;
  Permissions permissions;
  std::filesystem::path out = "served";         // each run writes into a folder of its own there
  std::string name_prefix = {};                 // of its sessions' names, where several servers write into one folder
  std::vector<int> gpus = {};                   // the host's numbers of the GPUs that this process sees, in its order
  std::filesystem::path ledger = {};            // folder of a GpuLedger with the servers of the host's other GPUs
  std::size_t at_once = 2;                      // runs; others wait for their turn, in order
  std::size_t most_waiting = 16;                // clients that wait; more are refused
  std::size_t memory_bytes = 0;                 // of the host, that all runs together may need; 0: what the machine has
  std::size_t device_bytes = 0;                 // likewise of the GPU; 0: what is free when the server begins
  RunLimits limits = {.seconds = 86400};        // of each run
  std::size_t window_bytes = 32 << 20;          // of frames that a client may send ahead of its run
  std::size_t largest_frame = most_of_a_frame;  // a client that sends a longer one is disconnected
  std::chrono::milliseconds patience{10'000};   // a client that is silent for longer counts as gone
  std::chrono::milliseconds stop_deadline{30'000};  // after a stop: how long runs may drain
};

/// Throws std::runtime_error, in one line, where a folder or a gadget that the options name is not there; makes the
/// folder of results.
void check_folders(const ServerOptions& options);

class Server {
 public:
  /// Binds. Throws std::runtime_error or std::invalid_argument, one line, if it cannot: the endpoint, keys, the
  /// folders.
  explicit Server(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The endpoint where it listens, with the port that it got.
  const std::string& endpoint() const;

  /// Serves until it is stopped and every run has ended. True if threads of an abandoned run are still in gadgets'
  /// code: the program must then end by std::_Exit.
  bool run();
  /// May be called from any thread. The first call lets runs drain and admits no new clients, the second drops the
  /// runs.
  void request_stop();
  void abort();

  /// From any thread: what Prometheus asks for; whether a client that comes now is served; and whether its GPU, if it
  /// has one, still works.
  std::string metrics() const;
  bool is_ready() const;
  bool is_live() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
