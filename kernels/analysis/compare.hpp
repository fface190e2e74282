// How far an image is from a reference: normalised RMS deviation of Cui et al. 2011 (conventions.md, figures of merit),
// largest difference, correlation. Sums in double precision.
#pragma once

#include "kernels/types/image.hpp"

namespace tofstream {

struct Comparison {
  double nrms = 0;         // RMS difference / (maximum - minimum of the reference)
  double rms = 0;          // root mean square of the difference
  double max_abs = 0;      // largest absolute difference
  double correlation = 0;  // Pearson's; where an image is constant: 1 if both are, else 0
  double mean = 0;
  double reference_mean = 0;
};

/// Compares two images on the host; of blobs, their coefficients. Where the reference is constant nrms is 0 for
/// identical images, else infinite. Throws std::invalid_argument that names what differs when grids do not match
/// (lengths to 1e-3 mm), and which image holds a value that is not finite.
Comparison compare(const Image& image, const Image& reference);

/// Throws std::invalid_argument that says whether size, voxel, origin or basis differ, and how.
void require_same_grid(const Grid& a, const Grid& b);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
