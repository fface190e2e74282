// Which views of a scan are reconstructed together. Neighbouring groups look from nearly the same sides, so an update
// with the next one would tell little that is new: pass_order.hpp has the order.
#pragma once

#include <vector>

#include "gadgets/subset/pass_order.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// The group of each place of the set: views in the order of their angles are dealt out to `subsets` groups in turn, so
/// that each group covers the circle, whichever head saw a view and whenever. Views of one angle, such as tilts, take
/// turns, so that each group has all of them where it has enough views. Groups differ by one view at most.
/// Throws std::invalid_argument for fewer views than groups.
std::vector<int> view_groups(const ViewSet& set, int subsets);

/// In which order groups of these views are used unless another is asked for. Histo-images may be as many groups as there
/// are views: golden, by which azimuths are far apart and tilts take turns (view_groups' numbers go through the tilts of
/// an azimuth first, and the step is prime to their number). A camera's views are a few groups: farthest.
inline PassRule usual_order(const ViewSet& set) {
  return set.kind == ViewKind::histo_image ? PassRule::golden : PassRule::farthest;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
