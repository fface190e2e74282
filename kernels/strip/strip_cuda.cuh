// The CUDA versions of the strip projector: what strip_cuda.cu chooses from. All are queued on the stream; tallies are
// added to.
#pragma once

#include "kernels/project/device_tally.cuh"
#include "kernels/strip/strip.hpp"

namespace tofstream::strip {

struct Model;

/// expectation[i] = (A x)_i.
void queue_forward(StripForm form, const Model& model, const EventView& events, const float* image, float* expectation,
                   Stream stream);
/// image += A^T y; `values` null stands for ones.
void queue_back(StripForm form, const Model& model, const EventView& events, const float* values, float* image,
                Stream stream);
/// sums += A^T(1 / (A x + additive)): one thread an event, and one warp an event (Bialas et al. 2015, section 4.2).
void queue_em_of_threads(StripForm form, const Model& model, const EventView& events, const float* image, float* sums,
                         DeviceTally* tally, Stream stream);
void queue_em_of_warps(StripForm form, const Model& model, const EventView& events, const float* image, float* sums,
                       DeviceTally* tally, Stream stream);

struct RowsShape;

/// The EM step with image and sums in shared memory: a warp takes an event, a lane one or two rows of its ellipse.
class EmOfRows {
 public:
  /// Empty where image and ellipses are small enough for it; else what is too large.
  static std::string why_not(const Grid& grid, const StripSettings& settings);

  EmOfRows(const Grid& grid, const StripSettings& settings);
  /// sums += A^T(1 / (A x + additive)), the same bit for bit at every call.
  void queue(const Model& model, const EventView& events, const float* image, float* sums, DeviceTally* tally,
             Stream stream);

 private:
  StripForm form_;
  const RowsShape& shape_;  // one of those that kernels are compiled for
  Buffer<float> ends_;      // of the strips, where shared memory has no room for them
  Buffer<long long> fixed_;
  Buffer<unsigned> histogram_;
};

}  // namespace tofstream::strip
// SPDX-License-Identifier: Apache-2.0
