// Widths of point sources in an image: a Gaussian is fitted to each.
#pragma once

#include <vector>

#include "kernels/psf/resolution_table.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

struct PointSource {
  Vec3d centre_mm;
  Resolution fwhm;      // without the width of a voxel
  double peak = 0;      // of the Gaussian above the background
  double residual = 0;  // root mean square of what the fit leaves, over the peak
  double radius_mm() const;
};

struct PointSourceSearch {
  double threshold = 0.2;  // of the image's maximum: a source is at least as high
  double window_mm = 20;   // half the edge of the box that is fitted; sources lie farther apart than twice that
};

/// The sources of a host image, the highest first. A source is a voxel above the threshold that no other within the
/// window exceeds. Around it b + p exp(-d^T C^-1 d / 2) is fitted by least squares (Levenberg-Marquardt) over the
/// voxels of the window, with the place, p, b and the widths along the axis, outwards from it, and across as unknowns.
/// C has the variance of a voxel's edge, h^2 / 12, besides: a voxel shows the mean of what is in it. Sources are to lie
/// apart, and to be small beside their widths. On the axis, to a voxel, both widths across it are their mean. Throws
/// std::invalid_argument for blobs, a search that cannot be, an image without a positive voxel, a window cut by the
/// image's border, two sources whose windows meet, a fit that does not converge, and a source narrower than its voxels
/// can show (FWHM below 1.2 edges) or wider than the window.
std::vector<PointSource> fit_point_sources(const Image& image, const PointSourceSearch& search);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
