// The extent of a scanner from its crystals' corners: see ring_size.hpp.
#include "gadgets/io/petsird/ring_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "gadgets/io/petsird/detection_bins.hpp"

namespace tofstream::petsird {
namespace {

/// From the least to the greatest value.
struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  double length() const { return most > least ? most - least : 0; }
};

Point minus(const Point& a, const Point& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

/// A crystal in its place.
struct PlacedCrystal {
  std::array<Point, 8> corners{};
  Point centre{};
  Point outwards{1, 0, 0};  // unit vector from the axis to the centre

  PlacedCrystal(const BoxShape& box, const Transform& element, const Transform& module) {
    for (std::size_t k = 0; k < corners.size(); ++k) {
      corners[k] = moved_by(module, moved_by(element, {box[k][0], box[k][1], box[k][2]}));
      for (std::size_t axis = 0; axis < 3; ++axis) centre[axis] += corners[k][axis] / 8;
    }
    const double radius = std::hypot(centre[0], centre[1]);
    if (radius > 0) outwards = {centre[0] / radius, centre[1] / radius, 0};
  }
  double nearest() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Point& c : corners) least = std::min(least, outwards[0] * c[0] + outwards[1] * c[1]);
    return least;
  }
};

/// The box's edges, named by where they point to in the scanner: the one that is most along the axis, of the others the
/// one that is most outwards, and the third.
void set_crystal(RingSize& size, const BoxShape& box, const Transform& element, const Transform& module) {
  const Point outwards = PlacedCrystal(box, element, module).outwards;
  const Point origin = moved_by(module, moved_by(element, {}));
  struct Edge {
    double mm = 0, along = 0, out = 0;
  };
  std::array<Edge, 3> edges;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Extent extent;
    for (const auto& corner : box) extent.add(static_cast<double>(corner[axis]));
    Point unit{};
    unit[axis] = 1;
    const Point direction = minus(moved_by(module, moved_by(element, unit)), origin);
    edges[axis] = {extent.length(), std::abs(direction[2]),
                   std::abs(direction[0] * outwards[0] + direction[1] * outwards[1])};
  }
  std::ranges::sort(edges, std::greater(), &Edge::along);
  if (edges[1].out < edges[2].out) std::swap(edges[1], edges[2]);
  size.axial_mm = edges[0].mm;
  size.depth_mm = edges[1].mm;
  size.tangential_mm = edges[2].mm;
}

}  // namespace

RingSize ring_size(const ScannerInformation& scanner) {
  RingSize size;
  Extent axial;
  double nearest = std::numeric_limits<double>::infinity();
  std::set<std::int64_t> rings;  // tenths of a mm
  for (const Replicated<DetectorModule>& modules : scanner.geometry.replicated_modules) {
    const auto& elements = modules.object.detecting_elements;
    for (const Transform& module : modules.transforms)
      for (const Transform& element : elements.transforms) {
        const PlacedCrystal crystal(elements.object.shape, element, module);
        for (const Point& corner : crystal.corners) axial.add(corner[2]);
        nearest = std::min(nearest, crystal.nearest());
        rings.insert(std::llround(10 * crystal.centre[2]));
        if (size.crystals++ == 0) set_crystal(size, elements.object.shape, element, module);
      }
  }
  if (size.crystals > 0) size.diameter_mm = 2 * std::max(nearest, 0.0);
  size.axial_length_mm = axial.length();
  size.rings = rings.size();
  return size;
}

double crystal_depth_mm(const ScannerInformation& scanner, std::size_t type) {
  const Replicated<DetectorModule>& modules = scanner.geometry.replicated_modules.at(type);
  const auto& elements = modules.object.detecting_elements;
  RingSize size;
  if (!modules.transforms.empty() && !elements.transforms.empty())
    set_crystal(size, elements.object.shape, elements.transforms.front(), modules.transforms.front());
  return size.depth_mm;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
