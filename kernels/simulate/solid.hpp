// Solids of which phantoms are made: ball, cylinder and cube, stretched, turned, moved and perhaps
// halved; membership, exact volume, extent and intersection with rays by the map to the unit shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/math/vec3.hpp"

namespace tofstream {

struct RigidPose;

/// A ray's stretch of parameters, empty where begin >= end.
struct Interval {
  double begin = 0, end = 0;
  bool empty() const { return !(begin < end); }
  double length() const { return empty() ? 0.0 : end - begin; }
};

/// A box along the axes, in mm.
struct Box3 {
  Vec3d low, high;
  bool intersects(const Box3& other) const {
    return low.x < other.high.x && other.low.x < high.x && low.y < other.high.y && other.low.y < high.y &&
           low.z < other.high.z && other.low.z < high.z;
  }
};

enum class Shape { ellipsoid, cylinder, box };

/// The unit ball, the unit cylinder (x^2 + y^2 <= 1, |z| <= 1) or the cube [-1, 1]^3, stretched by
/// half axes, turned and moved; optionally only the half of it towards one direction.
class Solid {
 public:
  /// `rotation_deg` turns about x, then y, then z. `half` (any length; zero keeps all) keeps the
  /// points p with half . (p - centre) >= 0. Throws std::invalid_argument unless all is finite and
  /// half axes are positive.
  Solid(Shape shape, Vec3d centre_mm, Vec3d half_axes_mm, Vec3d rotation_deg = {}, Vec3d half = {});

  std::string name;
  std::optional<double> activity_Bq_mL;  // none: leaves what lies below
  std::optional<double> mu_per_cm;       // none: leaves what lies below

  Shape shape() const { return shape_; }
  Vec3d centre_mm() const { return centre_; }
  bool contains(Vec3d point_mm) const { return unit_contains(to_unit(point_mm - centre_)); }
  double volume_mm3() const;
  double half_axis_mm(int axis) const { return norm(scaled_axes_[axis]); }
  /// Largest direction . (p - centre) of the whole shape's points (of both halves, where halved).
  double extent(Vec3d direction) const;
  /// A solid, with neither activity nor mu, that holds every point within `margin_mm` of this one: its box where it is
  /// stretched to unlike half axes, else of its own shape; never halved.
  Solid grown(double margin_mm) const;
  /// The same solid, turned and moved as a whole.
  Solid moved(const RigidPose& pose) const;
  /// The smallest box along the axes around the whole shape.
  Box3 bounds() const;
  /// Parameters t at which `origin + t direction` is inside; direction need not be a unit vector.
  Interval intersect(Vec3d origin_mm, Vec3d direction) const;
  /// The point in mm of a point of the cube [-1, 1]^3 around the unit shape.
  Vec3d from_unit(Vec3d u) const {
    return centre_ + u.x * scaled_axes_[0] + u.y * scaled_axes_[1] + u.z * scaled_axes_[2];
  }
  /// True where a point of the cube [-1, 1]^3 is inside the unit shape and the kept half.
  bool unit_contains(Vec3d u) const {
    if (halved_ && dot(unit_half_, u) < 0) return false;
    if (shape_ == Shape::ellipsoid) return dot(u, u) <= 1;
    if (std::abs(u.z) > 1) return false;
    if (shape_ == Shape::cylinder) return u.x * u.x + u.y * u.y <= 1;
    return std::abs(u.x) <= 1 && std::abs(u.y) <= 1;
  }
  /// False where no point of the box [low, high] of the unit shape's frame lies in the kept half.
  bool may_keep(Vec3d low, Vec3d high) const {
    const auto best = [](double slope, double a, double b) { return slope * (slope > 0 ? b : a); };
    return !halved_ ||
           best(unit_half_.x, low.x, high.x) + best(unit_half_.y, low.y, high.y) + best(unit_half_.z, low.z, high.z) >=
               0;
  }

 private:
  Vec3d to_unit(Vec3d v) const { return {dot(inverse_[0], v), dot(inverse_[1], v), dot(inverse_[2], v)}; }

  Shape shape_;
  bool halved_ = false;
  Vec3d centre_;
  Vec3d scaled_axes_[3];  // half axes as vectors in mm
  Vec3d inverse_[3];      // rows of the map back to the unit shape
  Vec3d unit_half_;       // `half` in the unit shape's frame
};

/// Rods of one diameter, packed hexagonally in a sector of a disc as in a Derenzo phantom.
struct RodSector {
  double diameter_mm = 0, spacing_mm = 0;  // spacing between centres of neighbours
  double angle_deg = 0, width_deg = 60;    // the sector's middle, and how wide it is
  double inner_mm = 0, radius_mm = 0;      // rods lie wholly within this ring of the disc
};
/// One cylinder a rod, along z about the centre, without activity or mu: the caller sets them. The
/// rows of the packing lie across the sector. Throws std::invalid_argument for figures out of range
/// or more than 10,000 rods.
std::vector<Solid> rods_of(const RodSector& sector, Vec3d centre_mm, double half_length_mm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
