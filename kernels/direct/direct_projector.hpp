// What all projectors of histo-images share: the frames of their views, and what EM makes of forward and back
// projection.
#pragma once

#include <vector>

#include "kernels/direct/direct.hpp"
#include "kernels/project/view_ratio.hpp"

namespace tofstream {

class DirectProjector : public ViewProjector {
 public:
  /// Throws std::invalid_argument as validate() does.
  DirectProjector(const Grid& grid, const ViewSet& set, const DirectSettings& settings, Backend backend = Backend::cpu);

  const Grid& grid() const final { return grid_; }
  Backend backend() const final { return backend_; }
  EmTally em_step(const Views& views, const float* image, float* accumulator, Stream stream) final;
  void add_sensitivity(const Views& views, float* image, Stream stream) final;
  /// All of the grid.
  Image support() const final;

 protected:
  /// Throws std::invalid_argument unless the views are of a set with the geometry that this was made for.
  void require_views(const Views& views) const;
  const ViewFrame& frame(const Views& views, int view) const {
    return frames_[static_cast<std::size_t>(views.records[view].view)];
  }
  const std::vector<ViewFrame>& frames() const { return frames_; }
  /// What `buffer` holds may be lost.
  static void make_room(Buffer<float>& buffer, Memory memory, std::int64_t floats, Stream stream) {
    if (buffer.size() < floats) buffer = Buffer<float>(memory, floats, stream);
  }
  DirectLattice lattice(const ViewFrame& frame) const { return DirectLattice::of(grid_, settings_.lattice, frame); }
  std::int64_t points() const { return set_.pixels(); }
  const DirectSettings& settings() const { return settings_; }
  /// Of the image's voxels.
  const RadialProfiles& profiles() const { return profiles_; }
  int profile_of(const ViewFrame& frame, Vec3d at) const { return profiles_.index(frame.s(at)); }

 private:
  Grid grid_;
  ViewSet set_;
  DirectSettings settings_;
  Backend backend_;
  std::vector<ViewFrame> frames_;  // of all places
  RadialProfiles profiles_;
  Buffer<float> ratio_;  // kept from one step to the next
  detail::StretchSums sums_;
};

/// From the axis to the farthest voxel's centre.
double farthest_voxel_mm(const Grid& grid);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
