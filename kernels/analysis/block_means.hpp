// An image made coarser: the mean of each block of voxels.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/types/image.hpp"

namespace tofstream {

/// The least number of voxels along each axis that a block must have for at most `most_voxels` (at least 1) blocks.
int shrink_factor(const Grid& grid, std::size_t most_voxels);

/// Means over blocks of factor^3 voxels. Blocks at the far edges may have fewer, and the grid of means then extends
/// beyond the image. The image lies on the host. Throws std::invalid_argument for an image of blobs and for a factor
/// below 1.
Image block_means(const Image& image, int factor);
/// The same of blocks with `factors` voxels along x, y and z.
Image block_means(const Image& image, const std::array<int, 3>& factors);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
