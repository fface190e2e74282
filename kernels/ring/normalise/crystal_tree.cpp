// Groups of neighbouring crystals: see crystal_tree.hpp.
#include "kernels/ring/normalise/crystal_tree.hpp"

#include <algorithm>
#include <utility>

namespace tofstream::detail {

CrystalTree::CrystalTree(const Scanner& scanner) {
  nodes_.reserve(2 * static_cast<std::size_t>(scanner.detectors->size()));
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t m = 0; m < type.modules; ++m) {
      Node& node = nodes_.emplace_back();
      for (std::uint32_t d = 0; d < type.elements; ++d)
        node.detectors.push_back(type.first_detector + m * type.elements + d);
    }
  for (std::size_t n = 0; n < nodes_.size(); ++n) split(n, *scanner.detectors);
}

void CrystalTree::measure(Node& node, const DetectorTable& table) {
  Vec3d sum;
  for (const std::uint32_t d : node.detectors) sum = sum + table.position(d).as<double>();
  node.centre_mm = ((1.0 / static_cast<double>(node.detectors.size())) * sum).as<float>();
  for (const std::uint32_t d : node.detectors)
    node.radius_mm = std::max(node.radius_mm, norm(table.position(d) - node.centre_mm));
  radii_.resize(std::max(radii_.size(), std::size_t{node.depth} + 1));
  radii_[node.depth] = std::max(radii_[node.depth], node.radius_mm);
}

// At the median along the axis in which the crystals reach farthest.
void CrystalTree::split(std::size_t node, const DetectorTable& table) {
  measure(nodes_[node], table);
  std::vector<std::uint32_t> members = nodes_[node].detectors;
  if (members.size() < 2) return;
  int longest = 0;
  float reach = -1;
  for (int axis = 0; axis < 3; ++axis) {
    const auto [low, high] = std::ranges::minmax(members, {}, [&](std::uint32_t d) { return table.position(d)[axis]; });
    const float length = table.position(high)[axis] - table.position(low)[axis];
    if (length > reach) reach = length, longest = axis;
  }
  std::ranges::sort(members, {}, [&](std::uint32_t d) { return std::pair(table.position(d)[longest], d); });
  const auto middle = members.begin() + static_cast<std::ptrdiff_t>((members.size() + 1) / 2);
  nodes_[node].child = static_cast<std::int32_t>(nodes_.size());
  const std::uint32_t depth = nodes_[node].depth + 1;
  nodes_.push_back({.detectors = {members.begin(), middle}, .centre_mm = {}, .depth = depth});
  nodes_.push_back({.detectors = {middle, members.end()}, .centre_mm = {}, .depth = depth});
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
