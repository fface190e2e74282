// An image made coarser: the mean of each block of voxels.
#pragma once

#include <cstddef>

#include "kernels/types/image.hpp"

namespace tofstream {

/// The least number of voxels along each axis that a block must have for at most `most_voxels` (at least 1) blocks.
int shrink_factor(const Grid& grid, std::size_t most_voxels);

/// Means over blocks of factor^3 voxels. Blocks at the far edges may have fewer, and the grid of means then extends
/// beyond the image. The image lies on the host. Throws std::invalid_argument for an image of blobs and for a factor
/// below 1.
Image block_means(const Image& image, int factor);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
