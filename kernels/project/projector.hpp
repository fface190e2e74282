// The one interface of all list-mode projectors: forward A x, back A^T y, and the fused EM step.
// A projector belongs to one grid and one backend; images and events it is given lie in that
// backend's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// What an EM step saw: events used, events skipped because their expectation was 0, and sum of
/// log(expectation) over the used.
struct EmTally {
  std::int64_t used = 0;
  std::int64_t skipped = 0;
  double log_sum = 0;

  EmTally& operator+=(const EmTally& other) {
    used += other.used;
    skipped += other.skipped;
    log_sum += other.log_sum;
    return *this;
  }
};

/// How CUDA projectors walk events in the EM step (`paper`: in all).
enum class CudaPath {
  automatic,  // by tiles where the events are many enough to repay the loading of tiles
  direct,     // each event on its own, by loads from and atomic additions to the image in global memory
  tiled,      // event by event of a tile of the image that lies in shared memory (project/tiled)
  paper,      // not Joseph's: slice by slice, as paper 000 does (project/tor/paper)
};

/// What a projector has prepared for a batch of events that it will meet in several passes. Holds no pointer to the
/// events; belongs to the projector that made it.
class EventPlan {
 public:
  virtual ~EventPlan() = default;
  /// Of device memory.
  virtual std::size_t bytes() const = 0;
};

class Projector {
 public:
  virtual ~Projector() = default;
  virtual const Grid& grid() const = 0;
  virtual Backend backend() const = 0;
  /// How far it reaches beyond the image, in mm: a line no point of which lies in the box of all voxels, grown by so
  /// much on every side, touches no voxel (or blob). Infinite where events are no lines.
  virtual float reach_mm() const = 0;

  /// expectation[i] = (A x)_i for each event, without multiplicative or additive terms. `image`:
  /// grid().voxels() floats; `expectation`: events.count floats. Queued on the stream where there
  /// is one.
  virtual void forward(const EventView& events, const float* image, float* expectation, Stream stream = nullptr) = 0;

  /// image += A^T y: adds each event's `values[i]` along its (ToF) line into `image`; values null
  /// stands for ones.
  virtual void back(const EventView& events, const float* values, float* image, Stream stream = nullptr) = 0;

  /// accumulator += A^T(1 / (A x + c/m)), the sum of list-mode EM (paper 000, eq. 1; PHYSICS 2):
  /// forward, ratio and back for each event in one pass. An event whose expectation is not positive
  /// is counted and skipped. Complete on return.
  virtual EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream = nullptr) = 0;

  /// The sensitivity in host memory, where the projector knows it in closed form; else none, and it is the sum over the
  /// scanner's pairs of detectors.
  virtual std::optional<Image> closed_form_sensitivity() const { return std::nullopt; }

  /// What a pass would otherwise prepare for these events each time, such as their order; null where there is nothing
  /// to prepare. Complete on return.
  virtual std::unique_ptr<EventPlan> plan(const EventView&, Stream = nullptr) { return nullptr; }
  /// em_step, forward and back of the events that `plan` (null for none) was made of.
  virtual EmTally planned_em_step(const EventPlan*, const EventView& events, const float* image, float* accumulator,
                                  Stream stream = nullptr) {
    return em_step(events, image, accumulator, stream);
  }
  virtual void planned_forward(const EventPlan*, const EventView& events, const float* image, float* expectation,
                               Stream stream = nullptr) {
    forward(events, image, expectation, stream);
  }
  virtual void planned_back(const EventPlan*, const EventView& events, const float* values, float* image,
                            Stream stream = nullptr) {
    back(events, values, image, stream);
  }
};

}  // namespace tofstream
