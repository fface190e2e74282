// The one interface of all projectors, whatever they project: forward A x, back A^T y, and the fused EM step, each also
// with a plan. A projector belongs to one grid and one backend; images and data that it is given lie in that backend's
// memory. Algorithms know no more of a scanner than this.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/memory/memory.hpp"
#include "kernels/types/em_tally.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

/// What a projector has prepared for data that it will meet in several passes. Holds no pointer to the data; belongs to
/// the projector that made it.
class ProjectionPlan {
 public:
  virtual ~ProjectionPlan() = default;
  /// Bytes of device memory that it takes.
  virtual std::size_t bytes() const = 0;
};

/// `Data`: pointers to measured data, passed by value, such as EventView; it has `count` data, each of which has an
/// expectation.
template <class Data>
class Projector {
 public:
  virtual ~Projector() = default;
  virtual const Grid& grid() const = 0;
  virtual Backend backend() const = 0;

  /// expectation[i] = (A x)_i for each datum, without multiplicative or additive terms. `image`: grid().voxels()
  /// floats; `expectation`: data.count floats. Queued on the stream where there is one.
  virtual void forward(const Data& data, const float* image, float* expectation, Stream stream = nullptr) = 0;

  /// image += A^T y: adds `values[i]` of each datum into `image` with its weights; values null stands for ones.
  virtual void back(const Data& data, const float* values, float* image, Stream stream = nullptr) = 0;

  /// accumulator += A^T(y / (A x + c/m)), the sum of EM (Cui et al. 2011, eq. 1; conventions.md, list-mode EM), in list
  /// mode with y = 1: forward, ratio and back of each datum in one pass. A datum whose expectation is not positive is
  /// counted and skipped. The tally is complete on return; on a GPU the sum may still be queued on the stream, which
  /// reads `data` until then.
  virtual EmTally em_step(const Data& data, const float* image, float* accumulator, Stream stream = nullptr) = 0;

  /// What a pass would otherwise prepare for these data each time, such as their order; null where there is nothing to
  /// prepare. Complete on return.
  virtual std::unique_ptr<ProjectionPlan> plan(const Data&, Stream = nullptr) { return nullptr; }
  /// em_step, forward and back of the data that `plan` (null for none) was made of.
  virtual EmTally planned_em_step(const ProjectionPlan*, const Data& data, const float* image, float* accumulator,
                                  Stream stream = nullptr) {
    return em_step(data, image, accumulator, stream);
  }
  virtual void planned_forward(const ProjectionPlan*, const Data& data, const float* image, float* expectation,
                               Stream stream = nullptr) {
    forward(data, image, expectation, stream);
  }
  virtual void planned_back(const ProjectionPlan*, const Data& data, const float* values, float* image,
                            Stream stream = nullptr) {
    back(data, values, image, stream);
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
