// The EM step of Joseph's projector with tiles in shared memory, for batches of many events (joseph_tiled.cu).
#pragma once

#include <memory>

#include "kernels/project/joseph/joseph_line-inl.hpp"
#include "kernels/project/tiled/em_tiles.cuh"

namespace tofstream {

class JosephTiled {
 public:
  JosephTiled(const single_lane::JosephSetup& setup, CudaPath path);
  /// Whether these events are to be planned: many enough, and alike enough (one width of ToF bin).
  bool takes(const EventView& events) const;
  std::unique_ptr<EventPlan> plan(const EventView& events, Stream stream);
  /// `plan` null: the events are planned a stretch at a time, and forgotten. Complete on return.
  EmTally em_step(const EventPlan* plan, const EventView& events, const float* image, float* accumulator,
                  Stream stream);

 private:
  tiled::Visits visits(const EventView& events, std::int64_t first, Stream stream) const;
  void step(const tiled::Visits& made, const EventView& events, const float* image, float* accumulator, Stream stream);

  single_lane::JosephSetup setup_;
  CudaPath path_;
  tiled::Workspace workspace_;
};

}  // namespace tofstream
