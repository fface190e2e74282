// What Joseph's projector brings to tiled/tiled_projector.cuh: the direct path (joseph_cuda.cu), visits (joseph_plan.cu)
// and footprints (joseph_tiled.cu).
#pragma once

#include <optional>

#include "kernels/project/tiled/workspace.cuh"
#include "kernels/ring/joseph/joseph_backends.hpp"
#include "kernels/ring/joseph/joseph_line-inl.hpp"

namespace tofstream {

class JosephFamily {
 public:
  static constexpr std::int64_t fewest_events = 20'000;

  JosephFamily(const Grid& grid, const JosephSettings& settings)
      : setup_(single_lane::JosephSetup::make(grid, settings)) {}
  const Grid& grid() const { return setup_.grid; }
  float reach_mm() const { return joseph_reach_mm(setup_.grid); }

  static bool has_visits(const EventView& events) { return !events.tof_width_mm; }
  /// Few enough of a small image that what their visits have in common stays in the second-level cache: its tiles are
  /// loaded and added up again in little time, and Joseph's visits are short enough to wait for the memory.
  std::int64_t events_at_a_time(int tile_words) const {
    const bool small = setup_.grid.voxels() <= std::int64_t{4} * tile_words;
    return small ? std::int64_t{3} << 20 : tiled::most_at_a_time;
  }
  std::optional<tiled::Visits> visits(const EventView& events, tiled::Workspace& workspace, Stream stream) const;
  template <class Step>
  void with_footprint(const EventView& events, Stream stream, const Step& step) const;

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) const;
  template <class Target>
  void back(const EventView& events, const float* values, const Target& target, Stream stream) const;
  void em_step(const EventView& events, const float* image, float* accumulator, DeviceTally* tally,
               Stream stream) const;

 private:
  single_lane::JosephSetup setup_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
