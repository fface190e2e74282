// What a run is doing, for Prometheus: an HTTP endpoint that is asked every few seconds. Every figure comes from
// RunControl::snapshot, so a run that nobody asks about pays nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/run/run_control.hpp"

namespace tofstream {

class WebServer;

struct MetricsSettings {
  std::string address;             // "host:port", port 0 chooses one
  bool is_public = false;          // may be an address that other machines reach
  std::vector<std::string> hosts;  // names of this machine that requests may be for, besides addresses and localhost
};

class MetricsEndpoint {
 public:
  /// Serves http://ADDRESS/metrics until it is destroyed. A request for a foreign host name is refused
  /// (gadgets/monitor/web_access.hpp). `run` outlives it. Throws std::runtime_error where the address cannot be had, or
  /// is open to the network.
  MetricsEndpoint(const RunControl& run, const MetricsSettings& settings);
  ~MetricsEndpoint();

  /// The port that it listens on.
  int port() const;

 private:
  std::unique_ptr<WebServer> server_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
