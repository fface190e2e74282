// Checks that every update makes of its images. Internal to the updates.
#pragma once

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/types/image.hpp"

namespace tofstream::detail {

/// Throws std::invalid_argument where `other` has another grid or memory than the estimate. `update`: "EM update".
inline void require_like(const char* update, const Image& estimate, const Image& other, const char* name) {
  if (!(other.grid == estimate.grid) || other.voxels.size() != estimate.voxels.size())
    throw std::invalid_argument(fmt::format("{}: the {} lies on another grid than the estimate", update, name));
  if (on_host(other.voxels.memory()) != on_host(estimate.voxels.memory()))
    throw std::invalid_argument(fmt::format("{}: the {} lies in other memory than the estimate", update, name));
}

inline void require_time_fraction(double time_fraction) {
  if (!(std::isfinite(time_fraction) && time_fraction > 0))
    throw std::invalid_argument(
        fmt::format("a subset's share of the scan time must be finite and positive, not {}", time_fraction));
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
