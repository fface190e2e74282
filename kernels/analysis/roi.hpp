// Regions of interest with sub-voxel weights: weighted mean and spread of an image in a sphere, a
// cylinder along z, or a disc on one slice.
#pragma once

#include "kernels/types/image.hpp"

namespace tofstream {

struct Sphere {
  Vec3 centre_mm;
  float radius_mm = 0;
};

/// A circular cylinder along the scanner axis.
struct Cylinder {
  Vec3 centre_mm;
  float radius_mm = 0;
  float length_mm = 0;
};

/// A circle on the slice across an axis whose centre is nearest to centre_mm along it.
struct Disc {
  Vec3 centre_mm;
  float radius_mm = 0;
  int axis = 2;  // 2: transverse
};

struct RoiStatistics {
  double mean = 0;
  double std = 0;  // weighted standard deviation of voxels about the mean
  double min = 0;  // over voxels that the region touches
  double max = 0;
  double voxels = 0;  // sum of weights: volume (disc: area) in voxels, parts included
};

/// Statistics of the voxels of a host image, each weighted with the part of it that lies inside
/// the region (sampled at `subsamples` points an axis where the border crosses it). Throws
/// std::invalid_argument when the region is not fully inside the image, is not positive in size,
/// or holds a value that is not finite.
RoiStatistics statistics(const Image& image, const Sphere& region, int subsamples = 10);
RoiStatistics statistics(const Image& image, const Cylinder& region, int subsamples = 10);
RoiStatistics statistics(const Image& image, const Disc& region, int subsamples = 10);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
