// For gadgets that look at events where the scanner has them.
#pragma once

#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "kernels/types/events.hpp"

namespace tofstream {

/// Throws std::runtime_error for events whose lines were moved: the gadget `name` would take them for another scanner's.
inline void require_still(const EventBatch& batch, std::string_view name) {
  if (batch.pose)
    throw std::runtime_error(fmt::format(
        "the events' lines follow a movement (rigid_motion), of which {} knows nothing: leave one of the two "
        "out, or put rigid_motion behind it",
        name));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
