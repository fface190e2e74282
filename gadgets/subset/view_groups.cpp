// Groups of views: see view_groups.hpp.
#include "gadgets/subset/view_groups.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {
namespace {

double angle_on_circle(const ViewPlace& place) {
  const double angle = std::fmod(static_cast<double>(place.angle_deg), 360.0);
  return angle < 0 ? angle + 360 : angle;
}

}  // namespace

std::vector<int> view_groups(const ViewSet& set, int subsets) {
  const std::size_t views = set.places.size();
  if (views < static_cast<std::size_t>(subsets))
    throw std::invalid_argument(
        fmt::format("subsets: {} of only {} views: set subsets to {} or less", subsets, views, views));
  std::vector<std::size_t> by_angle(views);
  std::iota(by_angle.begin(), by_angle.end(), std::size_t{0});
  std::ranges::stable_sort(by_angle, {}, [&](std::size_t v) { return angle_on_circle(set.places[v]); });
  std::vector<int> groups(views);
  for (std::size_t rank = 0; rank < views; ++rank)
    groups[by_angle[rank]] = static_cast<int>(rank % static_cast<std::size_t>(subsets));
  return groups;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
