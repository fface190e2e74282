#include "tools/observe/metrics.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

namespace tofstream {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// The families of one scrape, gathered by name.
class Families {
 public:
  void counter(const char* name, const char* help, const Labels& labels, double value) {
    metric(name, help, MetricType::Counter, labels).counter.value = value;
  }
  void gauge(const char* name, const char* help, const Labels& labels, double value) {
    metric(name, help, MetricType::Gauge, labels).gauge.value = value;
  }
  std::vector<MetricFamily> take() { return std::move(all_); }

 private:
  ClientMetric& metric(const char* name, const char* help, MetricType type, const Labels& labels) {
    const std::string full = std::string("tofstream_") + name;
    auto family = std::ranges::find(all_, full, &MetricFamily::name);
    if (family == all_.end()) family = all_.insert(all_.end(), MetricFamily{full, help, type, {}});
    ClientMetric& added = family->metric.emplace_back();
    added.label = labels;
    return added;
  }

  std::vector<MetricFamily> all_;
};

void add_gadget(Families& families, const GadgetReport& gadget) {
  const Labels labels{{"gadget", gadget.name}, {"use", gadget.use}};
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
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
  if (gadget.progress.total > 0)
    families.gauge("progress_ratio", "How far the gadget is", labels, gadget.progress.done / gadget.progress.total);
}

void add_edge(Families& families, const EdgeReport& edge) {
  const Labels labels{{"edge", edge.name}};
  const auto number = [](std::size_t n) { return static_cast<double>(n); };
  families.counter("edge_messages_total", "Messages that were put on the edge", labels, number(edge.figures.messages));
  families.gauge("edge_waiting_messages", "Messages that wait on the edge", labels,
                 number(edge.figures.waiting_messages));
  families.gauge("edge_waiting_bytes", "Bytes that wait on the edge", labels, number(edge.figures.waiting_bytes));
  families.gauge("edge_limit_messages", "Messages that may wait on the edge", labels, number(edge.limits.messages));
  families.gauge("edge_limit_bytes", "Bytes that may wait on the edge", labels, number(edge.limits.bytes));
  families.counter("edge_dropped_messages_total", "Messages that the edge dropped", labels,
                   number(edge.figures.dropped_messages));
  families.counter("edge_dropped_events_total", "Events in them", labels, number(edge.figures.dropped_events));
}

std::vector<MetricFamily> families_of(const RunReport& report) {
  Families families;
  for (const GadgetReport& gadget : report.gadgets) add_gadget(families, gadget);
  for (const EdgeReport& edge : report.edges) add_edge(families, edge);
  const char* latency = "From a message's entry to the end of a sink's work on it";
  families.gauge("latency_seconds", latency, {{"quantile", "0.5"}}, report.latency.p50_seconds);
  families.gauge("latency_seconds", latency, {{"quantile", "0.99"}}, report.latency.p99_seconds);
  return families.take();
}

class Snapshot final : public prometheus::Collectable {
 public:
  explicit Snapshot(const Engine& engine) : engine_(engine) {}
  std::vector<MetricFamily> Collect() const override { return families_of(engine_.snapshot()); }

 private:
  const Engine& engine_;
};

}  // namespace

struct MetricsEndpoint::Server {
  Server(const Engine& engine, const std::string& address)
      : snapshot(std::make_shared<Snapshot>(engine)), exposer(address, 1) {
    exposer.RegisterCollectable(snapshot);
  }
  std::shared_ptr<Snapshot> snapshot;
  prometheus::Exposer exposer;
};

MetricsEndpoint::MetricsEndpoint(const Engine& engine, const std::string& address) try
    : server_(std::make_unique<Server>(engine, address)) {
} catch (const std::exception&) {
  throw std::runtime_error(
      fmt::format("--metrics {}: cannot listen there: give a free host:port, such as "
                  "127.0.0.1:9464",
                  address));
}
MetricsEndpoint::~MetricsEndpoint() = default;

int MetricsEndpoint::port() const {
  return server_->exposer.GetListeningPorts().front();
}

}  // namespace tofstream
