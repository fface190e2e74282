// An image of another grid, sampled at the centres of voxels.
#pragma once

#include "kernels/types/image.hpp"

namespace tofstream {

/// The host image `image` at the centres of the voxels of `grid`, by trilinear interpolation; up to half a voxel beyond
/// its outermost centres it goes on as it ends. Finer detail than the voxels of `grid` is not averaged. Throws
/// std::invalid_argument for blobs, and where a centre lies outside the image's voxels.
Image sampled_on(const Grid& grid, const Image& image);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
