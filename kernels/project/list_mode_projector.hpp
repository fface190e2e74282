// Projectors of list-mode events.
#pragma once

#include <optional>

#include "kernels/project/projector.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

class ListModeProjector : public Projector<EventView> {
 public:
  /// How far the projector reaches beyond the image, in mm: a line that misses the box of all voxels, grown by this
  /// much on every side, touches no voxel (or blob). Infinite where events are no lines.
  virtual float reach_mm() const = 0;

  /// The sensitivity in host memory, as the chance that a decay in a voxel is recorded, if the projector knows it in
  /// closed form. If not, the sensitivity is the sum over the scanner's pairs of detectors.
  virtual std::optional<Image> closed_form_sensitivity() const { return std::nullopt; }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
