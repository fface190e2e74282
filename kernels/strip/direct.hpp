// Direct reconstruction of two strips' events: each counts where its response points at (Bialas et al. 2015, eq. 2 and
// figure 3b), without a model of the resolution. What iterative reconstruction is compared with.
#pragma once

#include <cstdint>

#include "kernels/strip/geometry.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// Adds 1 for each event (host memory, free ends and ToF) to the voxel of `counts` (host memory) that its emission
/// point lies in, x looked at by nobody: the image has one voxel along x. Returns how many events lie outside the
/// image.
std::int64_t add_direct(const StripGeometry& strips, const EventView& events, Image& counts);

}  // namespace tofstream
