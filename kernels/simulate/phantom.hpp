// A phantom of solids with activity and attenuation. Where solids overlap, the last one that names a quantity decides
// it. Line integrals are exact: a ray's intervals in the solids, not steps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/simulate/solid.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

class Phantom {
 public:
  Phantom() = default;
  /// Throws std::invalid_argument, naming the solid, for an activity or mu that is negative or not
  /// finite.
  Phantom(std::string name, std::vector<Solid> solids);

  /// The same phantom, turned and moved as a whole.
  Phantom moved(const RigidPose& pose) const;
  /// The same phantom with each solid's activity times its factor. Throws std::invalid_argument for another number of
  /// factors, and one that is negative or not finite.
  Phantom with_activities(const std::vector<double>& factors) const;

  const std::string& name() const { return name_; }
  const std::vector<Solid>& solids() const { return solids_; }

  double activity_at(Vec3d point_mm) const;  // Bq/mL; 0 outside
  double mu_at(Vec3d point_mm) const;        // 1/cm; 0 outside
  /// The box around all solids.
  Box3 bounds() const;
  /// Bound of the solids' distance from the z axis in mm, within 0.1% (halved ones count as whole).
  double transaxial_radius_mm() const;
  /// Integral of mu along the segment: the exponent of attenuation, dimensionless.
  double attenuation(Vec3d from_mm, Vec3d to_mm) const;
  /// Integral of activity along the segment, in Bq/mL mm.
  double activity_integral(Vec3d from_mm, Vec3d to_mm) const;
  /// Integral of mu along the whole line through `point_mm`, dimensionless; unit direction.
  double line_attenuation(Vec3d point_mm, Vec3d direction) const;
  /// The later solids that name an activity and may cover part of solid `i`.
  const std::vector<std::size_t>& covers_of(std::size_t i) const { return active_over_[i]; }
  /// All activity in Bq: exact in solids that no other overlaps, else by 2^18 fixed points a solid
  /// (about 0.1% of that solid's).
  double total_activity_Bq() const;

  /// Mean activity (Bq/mL) or mu (1/cm) of each voxel, by `samples`^3 points a voxel. Throws
  /// std::invalid_argument for a bad grid or samples outside [1, 32].
  Image activity_image(const Grid& grid, int samples = 4) const;
  Image mu_image(const Grid& grid, int samples = 4) const;

 private:
  struct Layer {  // the solids that name one quantity, in order
    std::vector<std::size_t> solids;
    std::vector<double> values;
  };
  double value_at(const Layer& layer, Vec3d point_mm) const;
  double integral(const Layer& layer, Vec3d origin, Vec3d direction, Interval limits) const;
  Image image(const Layer& layer, const Grid& grid, int samples) const;

  std::string name_;
  std::vector<Solid> solids_;
  Layer activity_, mu_;
  std::vector<std::vector<std::size_t>> active_over_;  // of each solid: later active ones that meet its box
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
