// Values of an image along a straight line, by trilinear interpolation.
#pragma once

#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream {

/// The values of a host image at `points` (at least 2) equal steps from `from_mm` to `to_mm`, both included. Within
/// half a voxel of the image's border the border's voxels count. Throws std::invalid_argument where the line leaves the
/// image.
std::vector<double> profile(const Image& image, Vec3 from_mm, Vec3 to_mm, int points);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
