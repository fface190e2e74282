// Rotations and shifts: see rigid_pose.hpp.
#include "kernels/types/rigid_pose.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/types/affine.hpp"

namespace tofstream {

namespace {

Vec3d row_of(const std::array<double, 9>& m, std::size_t row) {
  return {m[3 * row], m[3 * row + 1], m[3 * row + 2]};
}

void require_finite(std::span<const double> numbers) {
  for (const double number : numbers)
    if (!std::isfinite(number))
      throw std::invalid_argument(fmt::format("{} is no number of a pose: all must be finite", number));
}

/// The shares by pose.
std::map<RigidPose, double> by_pose(const PoseShares* poses) {
  std::map<RigidPose, double> result;
  if (!poses) return {{RigidPose{}, 1.0}};
  for (const PoseShare& each : *poses) result[each.pose] += each.share;
  return result;
}

Vec3d mean_place(const PoseShares* poses, Vec3d at_mm) {
  if (!poses) return at_mm;
  Vec3d sum;
  for (const PoseShare& each : *poses) sum = sum + each.share * each.pose(at_mm);
  return sum;
}

}  // namespace

Vec3d RigidPose::operator()(Vec3d p) const {
  return {dot(row_of(rotation, 0), p) + shift_mm[0], dot(row_of(rotation, 1), p) + shift_mm[1],
          dot(row_of(rotation, 2), p) + shift_mm[2]};
}

RigidPose RigidPose::inverse() const {
  RigidPose result;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) result.rotation[3 * i + j] = rotation[3 * j + i];
  const Vec3d back = result({shift_mm[0], shift_mm[1], shift_mm[2]});
  result.shift_mm = {-back.x, -back.y, -back.z};
  return result;
}

RigidPose RigidPose::after(const RigidPose& first) const {
  RigidPose result;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += rotation[3 * i + k] * first.rotation[3 * k + j];
      result.rotation[3 * i + j] = sum;
    }
  const Vec3d shift = (*this)({first.shift_mm[0], first.shift_mm[1], first.shift_mm[2]});
  result.shift_mm = {shift.x, shift.y, shift.z};
  return result;
}

double largest_distance_mm(const RigidPose& a, const RigidPose& b, Vec3d box_mm) {
  double largest = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const Vec3d at{(corner & 1 ? 0.5 : -0.5) * box_mm.x, (corner & 2 ? 0.5 : -0.5) * box_mm.y,
                   (corner & 4 ? 0.5 : -0.5) * box_mm.z};
    largest = std::max(largest, norm(a(at) - b(at)));
  }
  return largest;
}

RigidPose pose_of_matrix(const std::array<double, 12>& matrix) {
  require_finite(matrix);
  RigidPose pose;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) pose.rotation[3 * i + j] = matrix[4 * i + j];
    pose.shift_mm[i] = matrix[4 * i + 3];
  }
  Vec3d x = row_of(pose.rotation, 0), y = row_of(pose.rotation, 1), z = row_of(pose.rotation, 2);
  constexpr double tolerance = 1e-4;
  const double worst = std::max({std::abs(dot(x, x) - 1), std::abs(dot(y, y) - 1), std::abs(dot(z, z) - 1),
                                 std::abs(dot(x, y)), std::abs(dot(y, z)), std::abs(dot(z, x)), norm(cross(x, y) - z)});
  if (!(worst <= tolerance))
    throw std::invalid_argument(
        fmt::format("the matrix is no rotation: its rows are orthonormal and right-handed to {:.2g} alone, and to {:g} "
                    "they must be",
                    worst, tolerance));
  x = (1 / norm(x)) * x;
  y = y - dot(x, y) * x;
  y = (1 / norm(y)) * y;
  z = cross(x, y);
  pose.rotation = {x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z};
  return pose;
}

RigidPose pose_of_quaternion(const std::array<double, 4>& quaternion, const std::array<double, 3>& shift_mm) {
  require_finite(quaternion);
  require_finite(shift_mm);
  double squares = 0;
  for (const double part : quaternion) squares += part * part;
  if (!(squares > 1e-12) || !std::isfinite(squares))
    throw std::invalid_argument("the quaternion has no length, so it is no rotation");
  const double s = 2 / squares;
  const auto [w, x, y, z] = quaternion;
  return {
      {1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w), s * (x * y + z * w), 1 - s * (x * x + z * z),
       s * (y * z - x * w), s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)},
      shift_mm};
}

std::shared_ptr<const DetectorTable> moved(const DetectorTable& detectors, const RigidPose& pose) {
  std::vector<Vec3> positions;
  positions.reserve(static_cast<std::size_t>(detectors.size()));
  for (std::int64_t d = 0; d < detectors.size(); ++d)
    positions.push_back(pose(detectors.position(static_cast<std::uint32_t>(d)).as<double>()).as<float>());
  return std::make_shared<const DetectorTable>(positions);
}

double share_elsewhere(const PoseShares* a, const PoseShares* b) {
  if (a == b) return 0;
  std::map<RigidPose, double> difference = by_pose(a);
  for (const auto& [pose, share] : by_pose(b)) difference[pose] -= share;
  double sum = 0;
  for (const auto& [pose, share] : difference) sum += std::abs(share);
  return 0.5 * sum;
}

double mean_distance_mm(const PoseShares* a, const PoseShares* b) {
  constexpr double r = 100;
  double largest = 0;
  for (const Vec3d at : {Vec3d{r, 0, 0}, {-r, 0, 0}, {0, r, 0}, {0, -r, 0}, {0, 0, r}, {0, 0, -r}})
    largest = std::max(largest, norm(mean_place(a, at) - mean_place(b, at)));
  return largest;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
