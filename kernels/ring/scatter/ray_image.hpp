// Images as scatter follows photons through them, and what they must be. Internal to scatter.
#pragma once

#include <vector>

#include "kernels/math/compton.hpp"
#include "kernels/ring/scatter/scatter_legs.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::ring_scatter {

/// An image with zeros all about it.
class RayImage {
 public:
  /// Of an image of voxels on the host.
  explicit RayImage(const Image& image);
  RayImage(const RayImage&) = delete;
  RayImage& operator=(const RayImage&) = delete;

  const RayView& view() const { return view_; }
  const std::vector<float>& values() const { return values_; }
  /// All where it is not 0.
  RayBox box() const;
  double least_edge() const;

 private:
  RayView view_;
  std::vector<float> values_;
};

/// The box that holds two.
RayBox box_of(const RayBox& one, const RayBox& other);

/// Scatter is smooth, and voxels of 8 mm show all of it: the means of blocks of smaller ones.
Image in_coarse_voxels(const Image& image);

/// These throw std::invalid_argument, one line: for an image of blobs or with values that are negative or not finite; for
/// such a mu map (1/mm), or one with values that no matter has; for an energy window or resolution that cannot be.
void require_voxels(const Image& image, const char* name);
void require_mu(const Image& mu);
void require_acceptance(const EnergyAcceptance& energy);

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
