// What a run is doing, for Prometheus: an HTTP endpoint that is asked every few seconds. Every figure comes from
// RunControl::snapshot, so a run that nobody asks about pays nothing.
#pragma once

#include <functional>
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

/// What is asked for, from a thread of the endpoint's.
struct MetricsPages {
  std::function<std::string()> metrics;  // /metrics, in Prometheus' text format
  std::function<bool()> is_ready = {};   // /ready: 200 or 404; null: 404
  std::function<bool()> is_live = {};    // /live: likewise
};

class MetricsEndpoint {
 public:
  /// Serves http://ADDRESS/metrics until it is destroyed. A request for a foreign host name is refused
  /// (gadgets/monitor/web_access.hpp). `run` outlives it. Throws std::runtime_error where the address cannot be had, or
  /// is open to the network.
  MetricsEndpoint(const RunControl& run, const MetricsSettings& settings);
  /// The same for what is no run. What the pages use outlives it.
  MetricsEndpoint(MetricsPages pages, const MetricsSettings& settings);
  ~MetricsEndpoint();

  /// The port that it listens on.
  int port() const;

 private:
  std::unique_ptr<WebServer> server_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
