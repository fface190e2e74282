// Where a scanner stands to the object: a rotation and a shift, which take points of the scanner to points of the object.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/math/vec3.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// object = rotation * scanner + shift, in mm. An image that is reconstructed with it is that of the object.
struct RigidPose {
  std::array<double, 9> rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};  // row after row
  std::array<double, 3> shift_mm = {};

  Vec3d operator()(Vec3d scanner_mm) const;
  RigidPose inverse() const;
  /// The pose that takes a point where this one takes what `first` makes of it.
  RigidPose after(const RigidPose& first) const;
  friend auto operator<=>(const RigidPose&, const RigidPose&) = default;
};

/// How far the two take a point within a box about the origin apart, in mm: the largest distance of a corner.
double largest_distance_mm(const RigidPose& a, const RigidPose& b, Vec3d box_mm);

/// The pose of a 3 x 4 matrix (row after row, its last column the shift in mm). Throws std::invalid_argument where its
/// first three columns are not orthonormal to 1e-4 or mirror, and for numbers that are not finite; smaller errors, those
/// of few digits, are removed.
RigidPose pose_of_matrix(const std::array<double, 12>& matrix);

/// The pose of a quaternion {w, x, y, z}, which need not be of length 1, and a shift. Throws std::invalid_argument for one
/// without length, and for numbers that are not finite.
RigidPose pose_of_quaternion(const std::array<double, 4>& quaternion, const std::array<double, 3>& shift_mm);

/// The table's detectors as the object sees them.
std::shared_ptr<const DetectorTable> moved(const DetectorTable& detectors, const RigidPose& pose);

/// A pose and the share of the exposed time in which the scanner stood so; the shares of a scan's poses sum to 1.
struct PoseShare {
  RigidPose pose;
  double share = 1;
};
using PoseShares = std::vector<PoseShare>;

/// The share of the exposed time that would have to be spent in other poses to make one the other, in [0, 1]; null stands
/// for a scanner that stays in place.
double share_elsewhere(const PoseShares* a, const PoseShares* b);

/// How far the mean places of points 100 mm from the origin lie apart, in mm; null as above.
double mean_distance_mm(const PoseShares* a, const PoseShares* b);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
