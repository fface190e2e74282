// A phantom of solids with activity and attenuation; where solids overlap the last one that names a
// quantity wins. Line integrals are exact: a ray's intervals in the solids, not steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/math/vec3.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// A ray's stretch of parameters, empty where begin >= end.
struct Interval {
  double begin = 0, end = 0;
  bool empty() const { return !(begin < end); }
};

struct Box3 {
  Vec3d low, high;
  bool intersects(const Box3& other) const {
    return low.x < other.high.x && other.low.x < high.x && low.y < other.high.y &&
           other.low.y < high.y && low.z < other.high.z && other.low.z < high.z;
  }
};

enum class Shape { ellipsoid, cylinder, box };

/// The unit ball, the unit cylinder (x^2 + y^2 <= 1, |z| <= 1) or the cube [-1, 1]^3, stretched
/// by half axes, turned and moved; optionally only the half of it towards one direction.
class Solid {
 public:
  /// `rotation_deg` turns about x, then y, then z. `half` (any length; zero keeps all) keeps the
  /// points p with half . (p - centre) >= 0. Throws std::invalid_argument unless half axes are
  /// finite and positive.
  Solid(Shape shape, Vec3d centre_mm, Vec3d half_axes_mm, Vec3d rotation_deg = {}, Vec3d half = {});

  std::string name;
  std::optional<double> activity_Bq_mL;  // none: leaves what lies below
  std::optional<double> mu_per_cm;       // none: leaves what lies below

  Shape shape() const { return shape_; }
  Vec3d centre_mm() const { return centre_; }
  bool contains(Vec3d point_mm) const;
  double volume_mm3() const;
  /// The smallest box along the axes around the whole solid (around both halves, where it is
  /// halved).
  Box3 bounds() const;
  /// Parameters t at which `origin + t direction` is inside; direction need not be a unit vector.
  Interval intersect(Vec3d origin_mm, Vec3d direction) const;
  /// Maps a point of the unit shape's cube [-1, 1]^3 to the solid's frame in mm.
  Vec3d from_unit(Vec3d unit) const;
  /// True where a point of the cube [-1, 1]^3 is inside the unit shape and the kept half.
  bool unit_contains(Vec3d unit) const;

 private:
  Vec3d to_unit_vector(Vec3d v) const;

  Shape shape_;
  Vec3d centre_, half_axes_;
  Vec3d axes_[3];     // unit vectors of the solid's own axes
  Vec3d inverse_[3];  // axes_ / half axes: rows of the map to the unit shape
  Vec3d unit_half_;   // `half` as a direction in the unit shape's frame; zero: all
};

class Phantom {
 public:
  Phantom() = default;
  Phantom(std::string name, std::vector<Solid> solids);

  const std::string& name() const { return name_; }
  const std::vector<Solid>& solids() const { return solids_; }

  double activity_at(Vec3d point_mm) const;  // Bq/mL; 0 outside
  double mu_at(Vec3d point_mm) const;        // 1/cm; 0 outside
  /// The box around all solids.
  Box3 bounds() const;
  /// Integral of mu between two points: the exponent of attenuation, dimensionless.
  double attenuation(Vec3d from_mm, Vec3d to_mm) const;
  /// Integral of activity between two points, in Bq/mL mm.
  double activity_integral(Vec3d from_mm, Vec3d to_mm) const;
  /// True where nothing that names an activity lies over solid `i` at this point, which it holds.
  bool emits_at(std::size_t i, Vec3d point_mm) const;
  /// All activity in Bq, by 2^16 fixed points in each solid that others overlap (about 0.3% of such
  /// a solid's), exact in others.
  double total_activity_Bq() const;

  /// Mean activity (Bq/mL) or mu (1/cm) of each voxel, by `samples`^3 points a voxel.
  /// Throws std::invalid_argument unless samples is in [1, 32].
  Image activity_image(const Grid& grid, int samples = 4) const;
  Image mu_image(const Grid& grid, int samples = 4) const;

 private:
  std::string name_;
  std::vector<Solid> solids_;
  std::vector<std::size_t> active_, attenuating_;  // solids that name the quantity, in order
  std::vector<std::vector<std::size_t>>
      active_over_;  // of each solid: later active ones that may overlap it
};

/// The points of hexagonally packed rods in a sector of a disc: `angle_deg` is the sector's middle,
/// spacing is between centres, `inner_mm` keeps rods off the centre and `radius_mm` bounds
/// the rods' edges.
struct RodSector {
  double diameter_mm = 0, spacing_mm = 0, angle_deg = 0, width_deg = 60;
  double inner_mm = 0, radius_mm = 0;
};
/// One cylinder a rod along z, without activity or mu: the caller sets them.
std::vector<Solid> rods_of(const RodSector& sector, Vec3d centre_mm, double half_length_mm);

}  // namespace tofstream
