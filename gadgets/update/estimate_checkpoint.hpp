// What a checkpoint has of an estimate besides its image.
#pragma once

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

inline CheckpointStep checkpoint_step_of(const Estimate& estimate) {
  const ScanFrame& frame = estimate.step.frame;
  return {.update = estimate.step.update,
          .iteration = estimate.step.iteration,
          .rejected = estimate.rejected,
          .kept = estimate.kept,
          .events = estimate.events,
          .algorithm = estimate.algorithm,
          .frame = {frame.number, frame.frames, frame.start_s, frame.duration_s}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
