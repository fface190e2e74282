// The images of a dynamic scan, kept until the last of them is there.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gadgets/io/nifti/frame_times.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

class FrameSeries {
 public:
  bool is_empty() const { return times_.start_s.empty(); }
  const Grid& grid() const { return grid_; }
  const FrameTimes& times() const { return times_; }
  /// The voxels of all frames, one frame after the other.
  const std::vector<float>& voxels() const { return voxels_; }
  /// Voxels of one of the frames, from 0.
  std::span<const float> voxels(std::size_t frame) const {
    const auto count = static_cast<std::size_t>(grid_.voxels());
    return std::span(voxels_).subspan(frame * count, count);
  }

  /// One more frame's image. Throws std::bad_alloc where memory has no room for it.
  void add(const Estimate& estimate) {
    const auto image = on_host(estimate);
    grid_ = image->grid;
    voxels_.insert(voxels_.end(), image->voxels.span().begin(), image->voxels.span().end());
    times_.start_s.push_back(estimate.step.frame.start_s);
    times_.duration_s.push_back(estimate.step.frame.duration_s);
  }

 private:
  Grid grid_;
  std::vector<float> voxels_;
  FrameTimes times_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
