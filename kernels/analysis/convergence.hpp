// How far an image is from a converged one of the same data: the three measures by which the field compares algorithms.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream {

/// Voxels of an image, by number.
using VoxelList = std::vector<std::int64_t>;

struct ConvergenceRegions {
  VoxelList object, background;
  std::vector<VoxelList> regions;
};

/// All over the mean of the reference's background.
struct ConvergenceMeasures {
  double object = 0, background = 0;  // root mean square differences
  std::vector<double> regions;        // differences of means, with their sign
  /// The region whose mean is farthest off, without its sign; 0 where there is none.
  double worst_region() const;
};

/// The limits within which an image counts as converged, of the challenge PETRIC: 1 %, 1 % and 0.5 %.
struct ConvergenceLimits {
  double object = 0.01, background = 0.01, region = 0.005;
  bool hold(const ConvergenceMeasures& measures) const;
};

/// Throws std::invalid_argument for images of different grids, an empty list of voxels, and a background whose mean is
/// not positive.
ConvergenceMeasures convergence(const Image& image, const Image& reference, const ConvergenceRegions& regions);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
