// The inner product of two images, in double precision.
#pragma once

#include "kernels/types/image.hpp"

namespace tofstream {

/// sum_j a_j b_j over the voxels of one grid, of images in any memory (device images are copied to the host). Throws
/// std::invalid_argument where the grids differ.
double inner_product(const Image& a, const Image& b);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
