// Direct reconstruction of two strips' events: each counts where its response points at (Bialas et al. 2015, eq. 2 and
// figure 3b), without a model of the resolution. Iterative reconstruction is compared with it.
#pragma once

#include <cstdint>

#include "kernels/strip/geometry.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// Adds 1 for each event (host memory, free ends and ToF) to the voxel of `counts` (host memory) that its emission
/// point lies in. x is ignored: the image has one voxel along x. Returns how many events lie outside the image.
std::int64_t add_direct(const StripGeometry& strips, const EventView& events, Image& counts);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
