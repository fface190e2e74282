// A fleet's metrics: see fleet_figures.hpp.
#include "tools/serve/fleet_figures.hpp"

#include "tools/watch/metric_families.hpp"

namespace tofstream::serve {

namespace {

double number(std::uint64_t n) {
  return static_cast<double>(n);
}

void add_place(MetricFamilies& families, const std::string& server, const Place& place) {
  const MetricLabels labels{{"server", server}, {"place", place.name}};
  const auto gauge = [&](const char* name, const char* help, std::size_t value) {
    families.gauge(name, help, labels, number(value));
  };
  gauge("server_takes_runs", "1 where the place takes new runs", place.takes() ? 1 : 0);
  gauge("server_running", "Runs now", place.running);
  gauge("server_waiting", "Clients whose run has not begun", place.waiting);
  gauge("server_at_once", "Runs that there may be", place.at_once);
  gauge("server_memory_bytes", "Host memory that its runs may need together", place.memory_bytes);
  gauge("server_memory_free_bytes", "What is left of it", place.memory_free);
  if (place.gpu_bytes == 0) return;
  gauge("server_gpu_memory_bytes", "GPU memory that its runs may need together", place.gpu_bytes);
  gauge("server_gpu_memory_free_bytes", "What is left of it", place.gpu_free);
}

}  // namespace

std::string metrics_text(const std::vector<ServerFigures>& servers) {
  MetricFamilies families;
  for (const ServerFigures& server : servers) {
    const MetricLabels labels{{"server", server.name}};
    families.gauge("server_up", "1 where the server answers", labels, server.is_there ? 1 : 0);
    families.counter("server_runs_total", "Runs that have begun", labels, number(server.begun));
    families.counter("server_refused_total", "Clients that the server did not take", labels, number(server.refused));
    families.counter("server_lost_runs_total", "Runs that were lost when the server vanished", labels,
                     number(server.vanished));
    for (const Place& place : server.places) add_place(families, server.name, place);
  }
  return families.text();
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
