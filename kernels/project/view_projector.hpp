// Projectors of views.
#pragma once

#include "kernels/project/projector.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// forward gives A x, back A^T y: without weights, multiplicative and additive terms. em_step adds
/// A^T(w m y / (w m A x + b)), and its tally counts in whole counts of the views' records.
class ViewProjector : public Projector<Views> {
 public:
  /// image += the sum over the views of A_v^T(w_v m_v): their sensitivity. Queued on the stream.
  virtual void add_sensitivity(const Views& views, float* image, Stream stream = nullptr) = 0;

  /// In host memory: 1 where there is an image, else 0. A and A^T contain it.
  virtual Image support() const = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
