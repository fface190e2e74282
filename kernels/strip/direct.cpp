// A histogram of emission points: see direct.hpp.
#include "kernels/strip/direct.hpp"

#include <cmath>

namespace tofstream {

std::int64_t add_direct(const StripGeometry& strips, const EventView& events, Image& counts) {
  const Grid& grid = counts.grid;
  std::int64_t outside = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const auto emission = strip_emission(strips, strip_response<float>(events, i));
    const float j = std::floor((emission.y_mm - grid.origin_mm.y) / grid.voxel_mm.y + 0.5f);
    const float k = std::floor((emission.z_mm - grid.origin_mm.z) / grid.voxel_mm.z + 0.5f);
    if (j >= 0 && k >= 0 && j < static_cast<float>(grid.size[1]) && k < static_cast<float>(grid.size[2]))
      counts.voxels[grid.index(0, static_cast<int>(j), static_cast<int>(k))] += 1;
    else
      ++outside;
  }
  return outside;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
