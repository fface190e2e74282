// The model of several GPUs: see scaling_model.hpp.
#include "tools/bench/scaling_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct ClusterFile : Cluster {
  static constexpr auto params = describe(
      param<&Cluster::gpus_a_host>("gpus_a_host", range(1, 64), required, "GPUs of a host"),
      param<&Cluster::copy_gb_per_s>("copy_gb_per_s", range(0, 1e5), unit("GB/s"),
                                     "Of an image from one GPU to another of its host; 0: as measured"),
      param<&Cluster::network_gb_per_s>("network_gb_per_s", range(1e-3, 1e4), unit("GB/s"), required,
                                        "What a process's link to the others carries"),
      param<&Cluster::network_latency_us>("network_latency_us", range(0, 1e6), unit("us"), "Before a message arrives"),
      param<&Cluster::images>("images", "How images get to other hosts and back (tofstream run --rank-images)"),
      param<&Cluster::gpus>("gpus", required, "How many GPUs to predict for"),
      param<&Cluster::events>("events", range(0, 1e15), "In the scan; 0: as measured"));
};

double image_bytes(const ordered_json& measured) {
  double bytes = sizeof(float);
  for (const auto& size : measured.at("size")) bytes *= size.get<double>();
  return bytes;
}

/// The estimate to other processes, the sums back, and their addition.
double between_processes_s(int processes, double bytes, double add_s, const Cluster& cluster) {
  const double image_s = 1e-9 * bytes / cluster.network_gb_per_s, latency_s = 1e-6 * cluster.network_latency_us;
  const double others = processes - 1;
  if (cluster.images == ClusterImages::messages) return 2 * others * (image_s + latency_s) + others * add_s;
  constexpr int exchanges = 3;
  return (1 + 2 * others / processes) * image_s + exchanges * latency_s + others / processes * add_s;
}

Undivided undivided_of(const ordered_json& measured, const Cluster& cluster) {
  Undivided cost{1e-3 * measured.at("copy_of_image_ms").get<double>(),
                 1e-3 * measured.at("adding_an_image_ms").get<double>()};
  if (cluster.copy_gb_per_s > 0) cost.copy_s = 1e-9 * image_bytes(measured) / cluster.copy_gb_per_s;
  const bool is_needed =
      cluster.gpus_a_host > 1 && std::ranges::any_of(cluster.gpus, [](int gpus) { return gpus > 1; });
  if (is_needed && !(cost.copy_s > 0))
    throw std::runtime_error(
        "the results are of a host with one GPU, and say nothing of copies between GPUs: give copy_gb_per_s");
  return cost;
}

ordered_json row_of(const ordered_json& one, const ordered_json& measured, const Cluster& cluster,
                    const Undivided& cost, int gpus) {
  const bool is_one_host = gpus <= cluster.gpus_a_host;
  const auto measured_events = measured.at("events").get<double>();
  const double events = cluster.events > 0 ? cluster.events : measured_events;
  const double ideal_s = one.at("later_s").get<double>() * (events / measured_events) / gpus;
  const double of_subset =
      is_one_host ? cost.of_subset(gpus, gpus) : between_processes_s(gpus, image_bytes(measured), cost.add_s, cluster);
  const double predicted_s = ideal_s + measured.at("subsets").get<double>() * of_subset;
  return {{"projector", one.at("projector")},
          {"events", events},
          {"gpus", gpus},
          {"hosts", (gpus + cluster.gpus_a_host - 1) / cluster.gpus_a_host},
          {"ranks_are", is_one_host ? "GPUs of one process" : "processes"},
          {"predicted_s", predicted_s},
          {"predicted_of_ideal", ideal_s / predicted_s}};
}

}  // namespace

double Undivided::of_subset(int ranks, int parts) const {
  const double others = ranks - 1;
  const double copies = others == 0 ? 0 : 1 + (others - 1) / others + 2 * others / ranks;
  return copies * copy_s + add_s * (parts - 1) / ranks;
}

Cluster read_cluster(const std::filesystem::path& file) {
  const Value document = formats::read_document(file);
  ClusterFile read = formats::described<ClusterFile>(document, "");
  if (read.gpus.empty() || !std::ranges::all_of(read.gpus, [](int gpus) { return gpus >= 1 && gpus <= 1'000'000; }))
    formats::refuse(document.where, "gpus: numbers of GPUs, from 1 to a million");
  return read;
}

ordered_json predicted(const ordered_json& measured, const Cluster& cluster) {
  ordered_json rows = ordered_json::array();
  try {
    const Undivided cost = undivided_of(measured, cluster);
    for (const auto& one : measured.at("results")) {
      if (one.at("ranks") != 1) continue;
      for (const int gpus : cluster.gpus) rows.push_back(row_of(one, measured, cluster, cost, gpus));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(
        fmt::format("these are no results of tofstream-bench scaling with CUDA: {}", error.what()));
  }
  if (rows.empty()) throw std::runtime_error("the results have no row of one GPU, from which others are predicted");
  return rows;
}

void print_predicted(const ordered_json& rows) {
  fmt::print("Predicted, not measured; seconds of a later iteration\n{:<8} {:>7} {:>6} {:>10} {:>9}  {}\n", "", "GPUs",
             "hosts", "predicted", "of ideal", "ranks are");
  for (const ordered_json& row : rows)
    fmt::print("{:<8} {:>7} {:>6} {:>10.4f} {:>8.1f}%  {}\n", row["projector"].get<std::string>(),
               row["gpus"].get<int>(), row["hosts"].get<int>(), row["predicted_s"].get<double>(),
               100 * row["predicted_of_ideal"].get<double>(), row["ranks_are"].get<std::string>());
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
