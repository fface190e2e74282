// Images that lie obliquely, or are moved by an affine map, on a grid along x, y and z.
#pragma once

#include <optional>

#include "kernels/types/affine.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// An image and where it lies: `to_world` takes points of its grid's frame to points of the world, in mm.
struct PosedImage {
  Image image;
  Affine to_world;
};

/// The grid along x, y and z that holds a posed image's voxels, with voxels as large as the image's along the axis that
/// is nearest to each; of a pose by right angles, the image's own voxels. With `voxel_mm`, as many of these together
/// as fit into that edge, at least one. Throws std::invalid_argument for blobs, and for a pose that is singular or leads
/// to more than 4096 voxels along an axis.
Grid grid_around(const Grid& grid, const Affine& to_world, std::optional<double> voxel_mm = {});

/// `grid`, and as many voxels more along its axes as hold the non-zero voxels of a posed image. Throws likewise.
Grid grid_with(const Grid& grid, const Image& image, const Affine& to_world);

/// The host image on `grid`: a voxel is the mean over points spread evenly in it, no further apart than the image's
/// voxels, of the image by trilinear interpolation; 0 beyond the image's voxels. Throws std::invalid_argument for blobs
/// and a singular pose.
Image resampled(const Image& image, const Affine& to_world, const Grid& grid);

/// How wide a Gaussian an image needs along its own axes for resampled() to give it smoothed by one of `fwhm_mm`:
/// interpolation between voxels of edge h smooths too, with a variance of h^2 / 6 in the mean over all places between
/// them. At least 0.
Vec3 fwhm_before_resampling(const Grid& grid, const Affine& to_world, double fwhm_mm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
