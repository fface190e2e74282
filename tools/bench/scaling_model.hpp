// What an iteration on several GPUs should take, from what one takes and from what does not divide: for
// `tofstream-bench scaling`, of the machine at hand, and of a cluster that a file describes.
#pragma once

#include <filesystem>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/value/params.hpp"

namespace tofstream::command {

/// What a subset costs that does not divide among the GPUs of a host.
struct Undivided {
  double copy_s = 0;  // of an image, from one GPU to another
  double add_s = 0;   // of an image to another

  /// By slabs (gadgets/step/ranks.hpp): the estimate leaves the first GPU once, and what the others exchange of it comes
  /// beside one another; the first GPU reads its slabs of the others' sums, and is given theirs.
  double of_subset(int ranks, int parts) const;
};

/// How images get to processes on other hosts and back: `tofstream run --rank-images`.
enum class ClusterImages { nccl, messages };
constexpr auto enum_names(ClusterImages) {
  return names(ClusterImages::nccl, "nccl", ClusterImages::messages, "messages");
}

/// The file of `--predict`.
struct Cluster {
  int gpus_a_host = 8;
  double copy_gb_per_s = 0;                             // between GPUs of a host; 0: as measured
  double network_gb_per_s = 0, network_latency_us = 0;  // of a process's link
  ClusterImages images = ClusterImages::nccl;
  std::vector<int> gpus;
  double events = 0;  // in the scan; 0: as measured
};

/// Throws std::runtime_error, one line with file and place.
Cluster read_cluster(const std::filesystem::path& file);

/// One row for each projector and number of GPUs: seconds of a later iteration and their share of the ideal. Of other
/// numbers of events, projection takes one GPU as much longer as they are more. `measured`
/// is the report of `tofstream-bench scaling` with a row of one GPU for each projector. GPUs of one host are ranks of one
/// process; more are a process each. By NCCL the estimate goes through each link once, then a slab of each sum, then the
/// added slabs to the first; in messages all estimates and sums go through the first one's link, one after the other
/// (share/doc/ranks.md). Throws std::runtime_error, one line, for a report without such rows, or without a copy between
/// GPUs where the cluster states none.
nlohmann::ordered_json predicted(const nlohmann::ordered_json& measured, const Cluster& cluster);

/// Prints such rows as a table.
void print_predicted(const nlohmann::ordered_json& rows);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
