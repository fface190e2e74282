// Separable Gaussian resolution model in image space: its own adjoint, of unit sum, zero beyond the
// image. Weights are Lindeberg's discrete Gaussian e^-t I_n(t), t = (sigma / voxel)^2, whose
// variance is sigma^2 exactly also where sigma is smaller than a voxel (IEEE PAMI 12:234, 1990).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/memory/memory.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// Weights w_0 (centre) to w_n of the discrete Gaussian of standard deviation `sigma_voxels`; w_-i
/// = w_i and all sum to 1. Cut where at most `tail` of the sum lies beyond, never within 4 sigma.
/// Throws std::invalid_argument unless sigma_voxels is in [0, 1000] and tail in (0, 0.01].
std::vector<float> gaussian_weights(double sigma_voxels, double tail = 1e-5);

/// Blurs images of one grid in place.
class GaussianPsf {
 public:
  /// `fwhm_mm`: full width at half maximum along x, y, z; 0 leaves an axis as it is. Throws
  /// std::invalid_argument for an invalid grid or width, std::runtime_error for a missing GPU.
  GaussianPsf(const Grid& grid, Vec3 fwhm_mm, Backend backend);

  /// image <- G image; G^T = G. `image`: grid().voxels() floats in the backend's memory, queued on
  /// the stream. One call at a time: the scratch image of CUDA is kept.
  void apply(float* image, Stream stream = nullptr);
  /// As above. Throws std::invalid_argument for another grid or memory.
  void apply(Image& image, Stream stream = nullptr);

  const Grid& grid() const { return grid_; }
  /// True where every width is 0.
  bool is_identity() const;

 private:
  Grid grid_;
  Backend backend_;
  std::vector<float> weights_[3];
  Buffer<float> device_weights_[3];
  Buffer<float> scratch_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
