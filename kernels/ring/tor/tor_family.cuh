// What the TOR projector brings to tiled/tiled_projector.cuh: the direct path (tor_cuda.cu), visits (tor_plan.cu) and
// footprints (tor_tiled.cu).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/project/tiled/workspace.cuh"
#include "kernels/ring/tor/tof_profile.hpp"
#include "kernels/ring/tor/tor_model.hpp"

namespace tofstream::tor {

class TorFamily {
 public:
  static constexpr std::int64_t fewest_events = 5'000;

  /// `lattices`: one of voxels, or two of blobs, whose response is not Gaussian.
  TorFamily(const Grid& grid, const std::vector<Model>& lattices, const RadialResponse& response);
  const Grid& grid() const { return grid_; }
  float reach_mm() const { return lattices_.front().reach_mm(); }

  bool has_visits(const EventView& events) const;
  static std::int64_t events_at_a_time(int) { return tiled::most_at_a_time; }
  std::optional<tiled::Visits> visits(const EventView& events, tiled::Workspace& workspace, Stream stream) const;
  template <class Step>
  void with_footprint(const EventView& events, Stream stream, const Step& step);

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) const;
  template <class Target>
  void back(const EventView& events, const float* values, const Target& target, Stream stream) const;
  void em_step(const EventView& events, const float* image, float* accumulator, DeviceTally* tally,
               Stream stream) const;

 private:
  /// Calls kernel(whether the response is Gaussian, as a type; blocks for the events), unless there is no event.
  template <class Kernel>
  void launch(const EventView& events, const Kernel& kernel) const;
  std::int64_t first_voxel(std::size_t lattice) const {
    return static_cast<std::int64_t>(lattice) * lattices_[0].grid.voxels();
  }
  /// The pieces of the pass's ToF response on the device, ready for the stream.
  TofPieceView pieces_of(const Pass& pass, double stretch_mm, Stream stream);
  /// The bell of the pass's ToF response, made when the bin changes: the GPU would wait 2 microseconds a pass for it.
  const TofBell& bell_of(const Pass& pass);

  Grid grid_;
  std::vector<Model> lattices_;
  Buffer<float> table_;  // the radial response's samples
  float table_peak_;     // the largest of them
  TofPieceCache tof_cache_;
  std::shared_ptr<const TofPieces> tof_pieces_;  // of tof_on_device_
  Buffer<TofPiece> tof_on_device_;
  TofModel tof_bin_;  // of tof_bell_
  TofBell tof_bell_;
};

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
