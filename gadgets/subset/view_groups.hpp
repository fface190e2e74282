// Which views of a scan are reconstructed together. Neighbouring groups look from nearly the same sides, so an update
// with the next one would tell little that is new: pass_order.hpp has the order.
#pragma once

#include <vector>

#include "kernels/types/views.hpp"

namespace tofstream {

/// The group of each place of the set: views in the order of their angles are dealt out to `subsets` groups in turn, so
/// that each group covers the circle, whichever head saw a view and whenever. Views of one angle, such as tilts, take
/// turns, so that each group has all of them where it has enough views. Groups differ by one view at most.
/// Throws std::invalid_argument for fewer views than groups.
std::vector<int> view_groups(const ViewSet& set, int subsets);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
