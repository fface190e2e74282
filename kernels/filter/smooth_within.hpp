// An image smoothed by a Gaussian that knows where the image ends.
#pragma once

#include "kernels/types/image.hpp"

namespace tofstream {

/// Smooths a host image by a Gaussian of `fwhm_mm` along x, y and z, as GaussianPsf does; but near the border a voxel is
/// the mean, with the Gaussian's weights, of those voxels that there are, so that what goes on there is not thinned out.
/// 0 leaves an axis as it is. Throws as GaussianPsf does.
void smooth_within(Image& image, Vec3 fwhm_mm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
