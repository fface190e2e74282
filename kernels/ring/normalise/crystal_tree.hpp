// The crystals of each module, halved again and again by their place: groups of neighbours of any size, and spheres
// about them by which lines that miss a source are left out many at a time. Internal to the normalisation.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/types/scanner.hpp"

namespace tofstream::detail {

class CrystalTree {
 public:
  /// Some neighbouring crystals of a module.
  struct Node {
    std::vector<std::uint32_t> detectors;
    Vec3 centre_mm;
    float radius_mm = 0;      // of the sphere about the centre that holds them
    std::int32_t child = -1;  // the first of two nodes, one after the other; -1: a single crystal
    std::uint32_t depth = 0;  // 0: a whole module
  };

  explicit CrystalTree(const Scanner& scanner);

  /// The nodes of all modules; node m is module m.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// The largest radius of a node at each depth, in mm.
  const std::vector<float>& radii_mm() const { return radii_; }

 private:
  void split(std::size_t node, const DetectorTable& table);
  void measure(Node& node, const DetectorTable& table);

  std::vector<Node> nodes_;
  std::vector<float> radii_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
