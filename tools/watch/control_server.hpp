// A run's control socket: a Unix socket that its owner alone may open, for `tofstream control` and `top`, and for
// programs of one's own.
#pragma once

#include <filesystem>
#include <memory>

#include "core/run/run_control.hpp"

namespace tofstream {

/// The socket's name in a run's output folder.
inline constexpr const char* control_socket_name = "control.sock";

class ControlServer {
 public:
  /// Connections at a time; for one more, the one that has been silent longest is closed.
  static constexpr std::size_t most_clients = 64;

  /// Answers requests at `socket` on a thread of its own until it is destroyed, which removes the socket. One that a
  /// killed run left is replaced. `run` outlives it. Throws std::runtime_error, in one line, where the socket cannot be
  /// made: another run answers there, another file is in the way, the path is longer than the system allows.
  ControlServer(RunControl& run, const std::filesystem::path& socket);
  ~ControlServer();

 private:
  class Session;
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
