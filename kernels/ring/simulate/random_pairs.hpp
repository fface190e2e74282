// Random pairs of a scanner's detectors whose lines meet an image: a long list in a moment, for where it need not come
// from an activity.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/types/grid.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// `count` events on the host: pairs uniform over those in coincidence whose line crosses the image box, with detector1
/// > detector2; for a scanner with ToF and one type of module, ToF is the centre of the bin of a point that is uniform
/// on the part of the line inside the box. The same seed gives the same events, on every machine. Throws
/// std::invalid_argument for a negative count and std::runtime_error if hardly any line crosses the box.
EventBatch random_pairs(const std::shared_ptr<const Scanner>& scanner, const Grid& grid, std::int64_t count,
                        std::uint64_t seed);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
