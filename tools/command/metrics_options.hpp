// `--metrics` and what belongs to it.
#pragma once

#include "tools/command/command_line.hpp"
#include "tools/watch/metrics.hpp"

namespace tofstream::command {

inline void add_metrics_options(Command& command, MetricsSettings& settings) {
  command.add_option("--metrics", settings.address, "Serve figures to Prometheus at host:port");
  command.add_flag("--metrics-public", settings.is_public, "Let other machines read the figures");
  command
      .add_option("--metrics-host", settings.hosts,
                  "A name of this machine under which the figures may be read, besides its addresses and localhost")
      .one_a_time();
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
