// A deformation as an operator: the image at p is the estimate at p + u(p), by trilinear interpolation.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/operator/sparse_operator.hpp"

namespace tofstream {

/// u in mm of the scanner's frame: its components along x, y and z, on one grid, on the host.
using DisplacementField = std::array<Image, 3>;

/// Rows of W: of each voxel, the weights of the eight voxels around the place that it shows. What lies outside the grid
/// counts as 0, so rows of places inside sum to 1. The image's values are kept, not its sum: activity is a
/// concentration. Throws std::invalid_argument for components on other grids, blobs, more voxels than a SparseOperator
/// takes, and displacements that are not finite.
SparseRows warp_rows(const DisplacementField& field);

/// What to tell of a field.
struct WarpFigures {
  double largest_mm = 0;
  double outside = 0;  // share of voxels that show a place outside the grid
  double folded = 0;   // share of voxels where the deformation turns space inside out: its Jacobian is not positive
};
WarpFigures warp_figures(const DisplacementField& field);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
