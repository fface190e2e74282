// The separable Gaussian of one width as an operator: it is its own adjoint.
#pragma once

#include <mutex>

#include "kernels/filter/gaussian_psf.hpp"
#include "kernels/operator/image_operator.hpp"

namespace tofstream {

class GaussianOperator final : public ImageOperator {
 public:
  /// Throws as GaussianPsf does.
  GaussianOperator(const Grid& grid, Vec3 fwhm_mm, Backend backend)
      : ImageOperator(grid, backend), gaussian_(grid, fwhm_mm, backend) {}

 private:
  Image forward_of(const Image& x) const override {
    Image blurred = x.to(x.voxels.memory());
    const std::lock_guard lock(mutex_);  // it has scratch of its own
    gaussian_.apply(blurred);
    return blurred;
  }
  Image adjoint_of(const Image& y) const override { return forward_of(y); }

  mutable std::mutex mutex_;
  mutable GaussianPsf gaussian_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
