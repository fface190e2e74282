// A linear operator between the image that an algorithm updates and the image that is projected, such as a model of the
// resolution. With A in front of a projector P the system is P A, and what comes back is A^T P^T.
#pragma once

#include <stdexcept>

#include "kernels/types/image.hpp"

namespace tofstream {

/// From images of one grid to images of the same grid, in the memory of the backend that it was made for. Both
/// functions may be called by several threads at once; what they give may still be queued on the default stream. They
/// throw std::invalid_argument for an image of another grid or in other memory.
class ImageOperator {
 public:
  ImageOperator(const Grid& grid, Backend backend) : grid_(grid), backend_(backend) {}
  virtual ~ImageOperator() = default;
  ImageOperator(const ImageOperator&) = delete;
  ImageOperator& operator=(const ImageOperator&) = delete;

  /// A x
  Image forward(const Image& x) const {
    require(x);
    return forward_of(x);
  }
  /// A^T y, exact but for rounding: <A x, y> = <x, A^T y>.
  Image adjoint(const Image& y) const {
    require(y);
    return adjoint_of(y);
  }

  const Grid& grid() const { return grid_; }
  Backend backend() const { return backend_; }

 private:
  virtual Image forward_of(const Image& x) const = 0;
  virtual Image adjoint_of(const Image& y) const = 0;

  void require(const Image& image) const {
    if (!(image.grid == grid_) || image.voxels.size() != grid_.voxels())
      throw std::invalid_argument("the image lies on another grid than the operator was made for");
    if (on_host(image.voxels.memory()) != (backend_ == Backend::cpu))
      throw std::invalid_argument("the image lies in other memory than the operator was made for");
  }

  Grid grid_;
  Backend backend_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
