// The basis of kernelised EM: the image is K alpha, where each row of K is a weighted mean over those voxels nearby
// that are most alike in an anatomical image (Wang and Qi, IEEE Trans Med Imaging 34:61, 2015).
#pragma once

#include "kernels/operator/sparse_operator.hpp"

namespace tofstream {

struct KernelBasisSettings {
  int neighbours = 48;  // of a voxel, itself included; fewer at the border
  int window = 7;       // edge of the cube in which they are sought, in voxels; odd
  int patch = 1;        // edge of the cube of voxels that are compared; odd
  double sigma = 1;     // of the weights, in standard deviations of the anatomical image
};

/// Rows of K, which sum to 1, by an anatomical image on the host. The distance of two voxels is the root mean square
/// difference of their patches (beyond the image: its nearest voxel), over the image's standard deviation; a weight is
/// exp(-distance^2 / (2 sigma^2)) before rows are normalised. A row has the `neighbours` voxels of the smallest
/// distance; of equal ones those nearer in mm, then in the order of memory. Throws std::invalid_argument for settings
/// that cannot be, for blobs, for more voxels than a SparseOperator takes, and for an anatomical image that is
/// constant.
SparseRows kernel_basis_rows(const Image& anatomy, const KernelBasisSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
