// Joseph's projector with tiles in shared memory, for batches of many events (joseph_tiled.cu); see
// tiled/stretches.hpp.
#pragma once

#include <optional>

#include "kernels/project/tiled/em_tiles.cuh"
#include "kernels/ring/joseph/joseph_line-inl.hpp"

namespace tofstream {

class JosephTiled {
 public:
  JosephTiled(const single_lane::JosephSetup& setup, CudaPath path, bool deterministic);
  /// Whether these events are to be planned: many enough, and alike enough (one width of ToF bin).
  bool takes(const EventView& events) const;
  /// Whether a back projection alone is to be planned, for one use.
  bool takes_back(const EventView& events) const {
    return takes(events) && tiled::pays_for_one_use(path_, deterministic_, events.count);
  }
  /// A small image takes so few that what their visits have in common stays in the second-level cache: its tiles are
  /// loaded and added up again in little time, and Joseph's visits are short enough to wait for the memory.
  std::int64_t events_at_a_time() const {
    const bool small = setup_.grid.voxels() <= std::int64_t{4} * workspace_.words();
    return small ? std::int64_t{3} << 20 : tiled::most_at_a_time;
  }
  std::optional<tiled::Visits> visits(const EventView& events, std::int64_t first, Stream stream);
  void begin_step() { workspace_.begin(); }
  void add_step(const tiled::Visits& made, const EventView& events, const float* image, float* accumulator,
                Stream stream);
  EmTally end_step(Stream stream) { return workspace_.tally(stream); }
  void forward(const tiled::Visits& made, const EventView& events, const float* image, float* expectation,
               Stream stream);
  void back(const tiled::Visits& made, const EventView& events, const float* values, float* image, Stream stream);

 private:
  template <class Step>
  void with_footprint(const EventView& events, Step&& step) const;

  single_lane::JosephSetup setup_;
  CudaPath path_;
  bool deterministic_;
  tiled::Workspace workspace_;
};

}  // namespace tofstream
