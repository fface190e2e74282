// A scrape is one snapshot of the run: see metrics.hpp.
#include "tools/watch/metrics.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/wire/loopback.hpp"
#include "gadgets/monitor/web_server.hpp"
#include "tools/watch/metric_families.hpp"

namespace tofstream {
namespace {

using Families = MetricFamilies;
using Labels = MetricLabels;

double number(std::uint64_t n) {
  return static_cast<double>(n);
}

// Events of the whole run, by fate; what is in none of these is on its way.
void add_books(Families& families, const BookBalance& books) {
  const char* help = "Events of the run, by what became of them";
  const auto fate = [&](const char* name, const char* reason, std::uint64_t events) {
    families.counter("run_events_total", help, {{"fate", name}, {"reason", reason}}, number(events));
  };
  families.counter("run_received_events_total", "Events that the run received", {}, number(books.received));
  fate("reconstructed", "", books.reconstructed);
  fate("written", "", books.written);
  fate("discarded", "", books.discarded);
  for (const auto& [reason, events] : books.rejected) fate("rejected", reason.c_str(), events);
  for (const auto& [reason, events] : books.lost) fate("lost", reason.c_str(), events);
}

void add_run(Families& families, const RunReport& report) {
  const std::string now = outcome(report);
  for (const char* state : {"preparing", "waiting", "running", "stopping", "ending"})
    families.gauge("run_state", "1 for the state that the run is in", {{"state", state}}, now == state ? 1 : 0);
  families.gauge("run_seconds", "Since the run began", {}, report.seconds);
  families.gauge("run_data_seconds", "Since data began to come; 0: none has", {}, report.data_seconds);
  std::uint64_t changes = 0;
  for (const ParameterChange& change : report.changes) changes += 1 + change.joined;
  families.counter("run_parameter_changes_total", "Live parameters that were set", {}, number(changes));
  add_books(families, report.books);
  const LatencyFigures& latency = report.latency;
  const char* help =
      "From a message's entry to the end of a sink's work on it, which this fraction of messages did not exceed";
  for (const auto& [fraction, seconds] :  // the label is not `quantile`, which is a summary's
       {std::pair{"0.5", latency.p50_seconds}, {"0.99", latency.p99_seconds}, {"1", latency.max_seconds}})
    families.gauge("latency_seconds", help, {{"fraction", fraction}}, seconds);
}

void add_gadget(Families& families, const GadgetReport& gadget) {
  const Labels labels{{"gadget", gadget.name}, {"use", gadget.use}};
  families.counter("messages_in_total", "Messages that the gadget took", labels, number(gadget.messages_in));
  families.counter("messages_out_total", "Messages that the gadget gave", labels, number(gadget.messages_out));
  families.counter("events_in_total", "Events in the messages that the gadget took", labels, number(gadget.events_in));
  families.counter("events_out_total", "Events in the messages that the gadget gave", labels,
                   number(gadget.events_out));
  families.counter("busy_seconds_total", "Time in the gadget's own code", labels, gadget.busy_seconds);
  families.counter("held_up_seconds_total", "Time with work to do but a full edge behind it", labels,
                   gadget.waiting_output_seconds);
  families.counter("reconstructed_events_total", "Events booked as reconstructed", labels,
                   number(gadget.books.reconstructed));
  families.counter("written_events_total", "Events booked as written", labels, number(gadget.books.written));
  const auto by_reason = [&](const char* name, const char* help, const std::map<std::string, std::uint64_t>& entries) {
    for (const auto& [reason, events] : entries) {
      Labels with_reason = labels;
      with_reason.push_back({"reason", reason});
      families.counter(name, help, with_reason, number(events));
    }
  };
  by_reason("rejected_events_total", "Events booked as rejected", gadget.books.rejected);
  by_reason("lost_events_total", "Events booked as lost", gadget.books.lost);
  families.gauge("waiting", "1 where the gadget says that it waits for something outside the program", labels,
                 gadget.waiting.empty() ? 0 : 1);
  if (gadget.progress.total > 0)
    families.gauge("progress_ratio", "How far the gadget is", labels, gadget.progress.done / gadget.progress.total);
}

void add_edge(Families& families, const EdgeReport& edge) {
  const Labels labels{{"edge", edge.name}};
  families.counter("edge_messages_total", "Messages that were put on the edge", labels, number(edge.figures.messages));
  families.gauge("edge_waiting_messages", "Messages that wait on the edge", labels,
                 number(edge.figures.waiting_messages));
  families.gauge("edge_waiting_bytes", "Bytes that wait on the edge, in memory", labels,
                 number(edge.figures.waiting_bytes));
  families.gauge("edge_limit_messages", "Messages that may wait on the edge", labels, number(edge.limits.messages));
  families.gauge("edge_limit_bytes", "Bytes that may wait on the edge", labels, number(edge.limits.bytes));
  families.counter("edge_dropped_messages_total", "Messages that the edge dropped", labels,
                   number(edge.figures.dropped_messages));
  families.counter("edge_dropped_events_total", "Events in them", labels, number(edge.figures.dropped_events));
  if (edge.limits.policy != EdgePolicy::spill) return;
  families.counter("edge_spilled_messages_total", "Messages that the edge put on disk", labels,
                   number(edge.figures.spilled_messages));
  families.counter("edge_spilled_bytes_total", "Bytes that the edge put on disk", labels,
                   number(edge.figures.spilled_bytes));
  families.gauge("edge_disk_bytes", "Bytes that wait on disk", labels, number(edge.figures.disk_bytes));
  families.gauge("edge_most_disk_bytes", "The most bytes that waited on disk", labels,
                 number(edge.figures.most_disk_bytes));
}

std::string scrape(const RunControl& run) {
  const RunReport report = run.snapshot();
  Families families;
  add_run(families, report);
  for (const GadgetReport& gadget : report.gadgets) add_gadget(families, gadget);
  for (const EdgeReport& edge : report.edges) add_edge(families, edge);
  return families.text();
}

[[noreturn]] void refuse(const std::string& address, const char* why) {
  throw std::runtime_error(fmt::format("--metrics {}: {}", address, why));
}

constexpr const char* cannot_listen = "cannot listen there: give a free host:port, such as 127.0.0.1:9464";

WebAddress metrics_address(const std::string& address, bool is_public) {
  const auto colon = address.rfind(':');
  const bool has_port = colon != std::string::npos && colon > 0 && colon + 1 < address.size();
  const bool is_list = address.find_first_of(", ") != std::string::npos;
  if (!has_port || is_list) refuse(address, cannot_listen);
  if (!is_public && !is_loopback(address.substr(0, colon)))
    refuse(address, "is open to the network, and there is no password: use 127.0.0.1, or add --metrics-public");
  try {
    return web_address(address, true);
  } catch (const std::invalid_argument&) {
    refuse(address, cannot_listen);
  }
}

std::unique_ptr<WebServer> listen(MetricsPages pages, const MetricsSettings& settings) {
  const WebAddress address = metrics_address(settings.address, settings.is_public);
  WebContent content;
  content.file = [pages = std::move(pages)](std::string_view path) -> std::optional<WebFile> {
    const auto plain = [](std::string text) {
      return WebFile{"text/plain; version=0.0.4; charset=utf-8", std::make_shared<const std::string>(std::move(text))};
    };
    if (path == "/metrics") return plain(pages.metrics());
    if (path == "/ready" && pages.is_ready && pages.is_ready()) return plain("ready\n");
    if (path == "/live" && pages.is_live && pages.is_live()) return plain("live\n");
    return std::nullopt;
  };
  try {
    return std::make_unique<WebServer>(
        WebSettings{.address = address, .host_names = settings.hosts, .hosts_option = "--metrics-host"},
        std::move(content));
  } catch (const std::runtime_error&) {
    refuse(settings.address, cannot_listen);
  }
}

}  // namespace

MetricsEndpoint::MetricsEndpoint(const RunControl& run, const MetricsSettings& settings)
    : MetricsEndpoint(MetricsPages{.metrics = [&run] { return scrape(run); }}, settings) {}
MetricsEndpoint::MetricsEndpoint(MetricsPages pages, const MetricsSettings& settings)
    : server_(listen(std::move(pages), settings)) {}
MetricsEndpoint::~MetricsEndpoint() = default;

int MetricsEndpoint::port() const {
  return server_->port();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
