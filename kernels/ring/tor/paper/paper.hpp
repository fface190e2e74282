// Cui et al.'s own GPU scheme (II.B.1-11) as a projector, with its steps callable one by one so that each can be timed.
// make_tor_projector makes it where TorSettings::cuda_path is CudaPath::paper.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/project/list_mode_projector.hpp"

namespace tofstream::tor::paper {

/// What fig. 3 shows of a back projection by compare-and-swap loops: how many additions there were, and for each voxel
/// how many of them found it changed by another thread between reading and writing it.
struct Collisions {
  std::uint64_t writes = 0;
  std::vector<unsigned> of_voxel;
};

class PaperProjector : public ListModeProjector {
 public:
  /// The collisions of a planned back projection of ones. Throws std::invalid_argument for hardware atomics, which have
  /// none.
  virtual Collisions planned_collisions(const ProjectionPlan& plan, const EventView& events) = 0;
};

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
