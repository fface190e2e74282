// Coefficients of functions of time from the images of frames, voxel by voxel.
#pragma once

#include <memory>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/dynamic/frame_functions.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

/// Collects frames, and fits functions of time to them by least squares with the frames' lengths as weights.
class FrameFit {
 public:
  struct Frame {
    ScanFrame time;
    std::shared_ptr<const Image> image;
  };

  /// Keeps a frame's last image, and no other. Throws std::runtime_error for gates and for what has no voxels.
  /// `functions`: whose table must last until the frame's end; null: not known yet.
  void take(const Estimate& estimate, FrameFunctions* functions, Context& context);
  /// Throws std::runtime_error where no frame came.
  const std::vector<Frame>& frames() const;
  /// Fits the frames that begin at or after start_s, and writes the coefficients' images. Throws std::runtime_error for
  /// too few frames.
  void write(FrameFunctions& functions, double start_s, Context& context) const;

 private:
  std::vector<Frame> frames_;
  DecayWarning decay_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
