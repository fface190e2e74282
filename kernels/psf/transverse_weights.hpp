// Weights of a Gaussian in a transverse plane whose axes need not be those of the voxels.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/math/vec3.hpp"
#include "kernels/psf/resolution_table.hpp"

namespace tofstream {

/// In voxels squared.
struct TransverseCovariance {
  double xx = 0, xy = 0, yy = 0;
};

/// The covariance of a point at `centre`: the radial direction is that from the axis to it, and x on the axis.
TransverseCovariance covariance_of(const Resolution& fwhm, Vec3 centre, Vec3 voxel_mm);

/// The voxels around a source that its Gaussian may reach: an ellipse of 3.5 sigma.
class TransverseWindow {
 public:
  /// The largest sigmas, in voxels.
  TransverseWindow(double sigma_x, double sigma_y);
  std::int64_t taps() const { return static_cast<std::int64_t>(x_.size()); }
  int x(std::int64_t tap) const { return x_[static_cast<std::size_t>(tap)]; }
  int y(std::int64_t tap) const { return y_[static_cast<std::size_t>(tap)]; }

 private:
  std::vector<int> x_, y_;
};

/// Weights of the window's taps, with a sum of 1 and, where voxels are fine enough, the covariance that is asked for: a
/// Gaussian sampled at the voxels' centres, of the covariance that makes the samples' so.
std::vector<double> transverse_weights(const TransverseWindow& window, const TransverseCovariance& wanted);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
