// One iteration of list-mode MLEM as Cui et al. 2011 time it: forward and back projection and the multiplicative
// update.
#pragma once

#include "kernels/project/list_mode_projector.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::tor::paper {

/// What an iteration reads and writes, all in the projector's memory.
struct Iteration {
  ListModeProjector& projector;
  const ProjectionPlan* plan;  // null: none
  EventView events;
  Image& estimate;
  const Image& inverse_sensitivity;
  Image& accumulator;  // is cleared first
};

/// estimate <- estimate * inverse_sensitivity * A^T(1 / (A estimate + c/m)) (eq. 1), the update in the projector's
/// memory or, unless `update_on_device`, on the host, to which the images go and from which the estimate comes back
/// (II.B.8). Complete on return.
EmTally iterate(const Iteration& iteration, bool update_on_device, Stream stream = nullptr);

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
