// What single scatter needs to know of a scanner.
#pragma once

#include "kernels/ring/scatter/single_scatter.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// Lines are sampled as far from the axis as this share of the detectors' radius.
inline constexpr double reach_of_scatter_lines = 0.9;

struct ScatterScanner {
  ScatterDetectors detectors;  // all on one cylinder, as deep as they are on average
  double half_length_mm = 0;   // from z = 0 to the farthest detector
  double tof_sigma_mm = 0;     // 0: no ToF
};

/// Throws std::invalid_argument, one line, where the scanner states no energy window or resolution, or several, has
/// several ToF resolutions, or its detectors lie on no cylinder about x = y = 0.
ScatterScanner scatter_scanner(const Scanner& scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
