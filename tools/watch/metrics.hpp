// What a run is doing, for Prometheus: an HTTP endpoint that is asked every few seconds. Every figure comes from
// RunControl::snapshot, so a run that nobody asks about pays nothing.
#pragma once

#include <memory>
#include <string>

#include "core/run/run_control.hpp"

namespace tofstream {

class MetricsEndpoint {
 public:
  /// Serves http://ADDRESS/metrics until it is destroyed; `address` is "host:port", port 0 chooses one. It stays on
  /// this machine unless `is_public`. `run` outlives it. Throws std::runtime_error where the address cannot be had, or
  /// is open to the network.
  MetricsEndpoint(const RunControl& run, const std::string& address, bool is_public);
  ~MetricsEndpoint();

  /// The port that it listens on.
  int port() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace tofstream
