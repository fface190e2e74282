// The benchmarks' workloads W1, W2 and W3 (share/benchmarks/README.md): random LORs through an image box, with ToF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

struct Workload {
  std::string name;
  Grid grid;
  float radius_mm = 443;  // of the cylinder that the LORs' ends lie on
  float length_mm = 180;
  TofModel tof;  // sigma 0: non-ToF
};

/// The workload of that name: "W1", "W2-128", "W2-256" or "W3"; its events have ToF. Throws
/// std::invalid_argument that lists the names for any other.
Workload find_workload(std::string_view name);
/// The names that find_workload knows.
std::vector<std::string> workload_names();

/// `count` events with free ends on the host: ends uniform on the cylinder's wall, kept if the line
/// crosses the image box, the ToF bin's centre uniform on the part of the line inside the box. The
/// same seed gives the same events, on every machine. Throws std::invalid_argument for a negative
/// count and std::runtime_error if hardly any line crosses the box.
EventBatch random_lors(const Workload& workload, std::int64_t count, std::uint64_t seed);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
