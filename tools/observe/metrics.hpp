// What a run is doing, for Prometheus: an HTTP endpoint that is asked every few seconds. Every figure comes from
// Engine::snapshot, so a run that nobody asks about pays nothing.
#pragma once

#include <memory>
#include <string>

#include "core/engine.hpp"

namespace tofstream {

class MetricsEndpoint {
 public:
  /// Serves http://ADDRESS/metrics until it is destroyed; `address` is "host:port", port 0 chooses one. `engine`
  /// outlives it. Throws std::runtime_error where the address cannot be had.
  MetricsEndpoint(const Engine& engine, const std::string& address);
  ~MetricsEndpoint();

  /// The port that it listens on.
  int port() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace tofstream
