// A server for each GPU of a host, as a process of its own: it sees its GPU as the first, so that all that a process
// does on its first GPU is right, and the others behind it, for runs that use several.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/serve/server_link.hpp"

namespace tofstream::serve {

/// The numbers of GPUs that "all", or "0,2", means where there are `there`. Throws std::invalid_argument, in one line.
std::vector<int> read_gpus(const std::string& text, int there);

/// The GPUs in the order in which the server of number `first` of them sees them: its own, then those that follow it.
std::vector<int> order_from(std::span<const int> gpus, std::size_t first);

/// CUDA_VISIBLE_DEVICES for a process that is to see these GPUs in this order. `visible`: what the variable is now, if
/// it is set, of whose entries the numbers are.
std::string visible_devices(std::span<const int> order, const std::optional<std::string>& visible);

class GpuServers {
 public:
  struct Settings {
    std::string program;                 // the path of this program
    std::vector<std::string> arguments;  // of `serve` for each, without endpoint and GPUs
    std::vector<int> gpus;
  };
  /// Starts a process for each GPU, which listens at a socket in a folder that only this user can enter. One that ends
  /// by itself is started again, unless it was told to (exit code 0). All end at the latest with this process.
  explicit GpuServers(Settings settings);
  /// Kills those that are left.
  ~GpuServers();
  GpuServers(const GpuServers&) = delete;
  GpuServers& operator=(const GpuServers&) = delete;

  /// Where they listen; named "GPU 0".
  const std::vector<ServerAddress>& addresses() const;

  /// Throws std::runtime_error, in one line, where one has ended: before all have begun, none is started again.
  void throw_if_ended() const;
  void all_have_begun();

  /// Tells each to end (SIGTERM), starts none again, and waits until all have ended; those that do not within 30 s are
  /// killed.
  void end();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
