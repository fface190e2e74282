// A quadratic penalty on the differences of neighbouring voxels (Green 1990, with a quadratic potential),
//     U(x) = sum over pairs of neighbours j, k of w_jk (x_j - x_k)^2 / 2,   w_jk = shortest edge / distance,
// in which each pair counts once and none lies outside the image.
#pragma once

#include "kernels/memory/memory.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// The voxels that share a face with a voxel, 6; or an edge or a corner too, 26.
enum class Neighbours { faces, all };

/// beta dU/dx_j = beta sum_k w_jk (x_j - x_k), in the memory of the image; complete on return. The unit is that of beta
/// times the image's. Throws std::invalid_argument for an image of blobs, or a beta that is negative or not finite.
Image quadratic_gradient(const Image& image, Neighbours neighbours, double beta, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
