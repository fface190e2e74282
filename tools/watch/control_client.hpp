// The other end of a run's control socket.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "tools/watch/control_message.hpp"

namespace tofstream {

/// Nobody answers, or no longer.
struct NoRun : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ControlClient {
 public:
  /// `run`: a control socket, or the output folder that it lies in. Throws NoRun, in one line, where no run answers.
  explicit ControlClient(const std::filesystem::path& run);
  ~ControlClient();

  /// The whole answer, "ok" or not. Throws NoRun where none comes within 10 s, as when the run has ended.
  nlohmann::ordered_json ask(const ControlRequest& request);

 private:
  struct Connection;
  std::filesystem::path socket_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
