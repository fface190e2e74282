// The metrics of one scrape, gathered by name.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

namespace tofstream {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

class MetricFamilies {
 public:
  void counter(const char* name, const char* help, const MetricLabels& labels, double value) {
    metric(name, help, prometheus::MetricType::Counter, labels).counter.value = value;
  }
  void gauge(const char* name, const char* help, const MetricLabels& labels, double value) {
    metric(name, help, prometheus::MetricType::Gauge, labels).gauge.value = value;
  }
  /// In Prometheus' text format.
  std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  prometheus::ClientMetric& metric(const char* name, const char* help, prometheus::MetricType type,
                                   const MetricLabels& labels) {
    const std::string full = std::string("tofstream_") + name;
    auto family = std::ranges::find(all_, full, &prometheus::MetricFamily::name);
    if (family == all_.end()) family = all_.insert(all_.end(), prometheus::MetricFamily{full, help, type, {}});
    prometheus::ClientMetric& added = family->metric.emplace_back();
    added.label = labels;
    return added;
  }

  std::vector<prometheus::MetricFamily> all_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
