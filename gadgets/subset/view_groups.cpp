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

// How many views each angle has, in `by_angle`, where all have as many; else 1.
std::size_t views_of_each_angle(const ViewSet& set, const std::vector<std::size_t>& by_angle) {
  const auto angle = [&](std::size_t rank) { return angle_on_circle(set.places[by_angle[rank]]); };
  std::size_t each = 1;
  while (each < by_angle.size() && angle(each) == angle(0)) ++each;
  for (std::size_t rank = 1; rank < by_angle.size(); ++rank)
    if ((angle(rank) == angle(rank - 1)) != (rank % each > 0)) return 1;
  return by_angle.size() % each == 0 ? each : 1;
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
  // Where the numbers of groups and of tilts have a common divisor, a group would meet the same tilts again and again:
  // whenever the pattern begins anew, the tilts of an angle move on by one.
  const auto count = static_cast<std::size_t>(subsets);
  const std::size_t tilts = views_of_each_angle(set, by_angle), pattern = std::lcm(count, tilts);
  std::vector<int> groups(views);
  for (std::size_t rank = 0; rank < views; ++rank) {
    const std::size_t angle = rank / tilts * tilts;
    groups[by_angle[angle + (rank + angle / pattern) % tilts]] = static_cast<int>(rank % count);
  }
  return groups;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
