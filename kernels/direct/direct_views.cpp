// Checks directions of views: see direct_views.hpp.
#include "kernels/direct/direct_views.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

void validate(const DirectViews& views) {
  constexpr int most = 4096;
  if (views.azimuths < 1 || views.azimuths > most)
    throw std::invalid_argument(fmt::format("views.azimuths must be in [1, {}], not {}", most, views.azimuths));
  if (views.tilts < 1 || views.tilts > most / views.azimuths)
    throw std::invalid_argument(
        fmt::format("views.tilts must be in [1, {}], so that there are at most {} views, not {}", most / views.azimuths,
                    most, views.tilts));
  constexpr float widest_deg = 80;
  if (!(views.acceptance_deg > 0 && views.acceptance_deg <= widest_deg))
    throw std::invalid_argument(
        fmt::format("acceptance_deg must be in (0, {:g}], not {:g}", widest_deg, views.acceptance_deg));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
