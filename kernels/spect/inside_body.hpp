// Whether a camera's radius can be: a collimator's face that lies inside what attenuates says that a radius, or the place
// of the mu map, is wrong.
#pragma once

#include <optional>

#include "kernels/types/image.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// Half of what water attenuates at 511 keV, the least of any photopeak: less is air, the bed's foam or a smoothed edge.
inline constexpr double mu_of_body_per_mm = 0.005;

struct InsideBody {
  int view = 0;         // the one that is deepest in the body
  double reach_mm = 0;  // from the axis towards that camera: how far the body reaches within what it sees
  int views = 0;        // that are inside the body
};

/// Looks from each view at the voxels of the map, in host memory, with at least mu_of_body_per_mm whose middle lies before
/// or behind the detector. The face is inside where such a middle is not in front of it; nothing where no view is.
std::optional<InsideBody> views_inside_body(const ViewSet& set, const Image& mu_per_mm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
