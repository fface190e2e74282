// What single scatter needs to know of a scanner: from its YAML file, or from a recording's header.
#pragma once

#include <filesystem>

#include "kernels/ring/scatter/single_scatter.hpp"

namespace tofstream {

struct ScatterScanner {
  ScatterDetectors detectors;  // all crystals on one cylinder, as deep as they are on average
  double half_length_mm = 0;   // from z = 0 to the farthest crystal
  double tof_sigma_mm = 0;     // 0: no ToF
};

/// A scanner's YAML file, or a recording in PETSIRD, of which the header is read. Throws std::runtime_error, one line,
/// where the file cannot be read, its header states no energy window, several or no resolution, or its crystals lie on
/// no cylinder about x = y = 0.
ScatterScanner scatter_scanner(const std::filesystem::path& file);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
