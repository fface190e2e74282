// Line integrals of one image along the lines of many batches, as attenuation needs them for a mu map.
#pragma once

#include <memory>

#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

class LineIntegrals {
 public:
  virtual ~LineIntegrals() = default;
  virtual Backend backend() const = 0;
  /// integrals[i]: what Joseph's projector (joseph.hpp) gives for event i's line, whatever its ToF: the image's unit
  /// times mm. Events and integrals (events.count floats) lie in the backend's memory; queued on the stream.
  virtual void along(EventView events, float* integrals, Stream stream) const = 0;
};

/// The line integrals of an image on the host, which is copied; its voxels are finite. Throws as make_joseph_projector
/// does.
std::unique_ptr<const LineIntegrals> make_line_integrals(const Image& image, Backend backend);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
