// Rigid poses: from matrices and quaternions, back again, and how distributions of them differ; means of conditions.
#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "kernels/simulate/phantom.hpp"
#include "kernels/types/conditions.hpp"
#include "kernels/types/rigid_pose.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

bool is_near(Vec3d a, Vec3d b, double most = 1e-9) {
  return norm(a - b) < most;
}

/// A turn about z and a shift.
RigidPose turned(double degrees, std::array<double, 3> shift_mm = {}) {
  const double half = 0.5 * degrees * std::numbers::pi / 180;
  return pose_of_quaternion({std::cos(half), 0, 0, std::sin(half)}, shift_mm);
}

}  // namespace

TEST_CASE("one pose after another takes a point where the two do, one by one") {
  const RigidPose first = pose_of_quaternion({0.7, -0.3, 1.1, 0.4}, {5, -60, 700}), second = turned(35, {-4, 9, 1});
  const Vec3d p{12, -7, 30};
  CHECK(is_near(second.after(first)(p), second(first(p))));
  CHECK(is_near(first.inverse().after(first)(p), p));
  CHECK(RigidPose{}.after(first) == first);
}

TEST_CASE("a pose turns, shifts, and its inverse undoes it") {
  CHECK(is_near(turned(90, {1, 2, 3})({10, 0, 5}), {1, 12, 8}));
  const RigidPose pose = pose_of_quaternion({0.7, -0.3, 1.1, 0.4}, {5, -60, 700});
  for (const Vec3d p : {Vec3d{}, {100, 0, 0}, {-3, 50, 20}}) {
    CHECK(is_near(pose.inverse()(pose(p)), p));
    CHECK(norm(pose(p) - pose({})) == approx(norm(p)));
  }
  const auto& r = pose.rotation;
  const RigidPose same = pose_of_matrix({r[0], r[1], r[2], 5, r[3], r[4], r[5], -60, r[6], r[7], r[8], 700});
  CHECK(is_near(same({10, 20, 30}), pose({10, 20, 30})));
  CHECK(largest_distance_mm(RigidPose{}, turned(0, {3, 4, 0}), {10, 20, 30}) == approx(5));
  CHECK(largest_distance_mm(RigidPose{}, turned(180), {60, 80, 30}) == approx(100));
}

TEST_CASE("what is no rotation is refused, and rounding is removed") {
  CHECK_THROWS_WITH(pose_of_matrix({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0}), doctest::Contains("is no rotation"));
  CHECK_THROWS_WITH(pose_of_matrix({1, 0, 0, 0, 0, 1.01, 0, 0, 0, 0, 1, 0}), doctest::Contains("is no rotation"));
  for (std::size_t element = 0; element < 12; ++element) {
    std::array<double, 12> matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    matrix[element] = element % 2 == 0 ? NAN : -INFINITY;
    CHECK_THROWS_WITH_AS(pose_of_matrix(matrix), doctest::Contains("must be finite"), std::invalid_argument);
  }
  CHECK_THROWS_WITH(pose_of_quaternion({1, 0, NAN, 0}, {}), doctest::Contains("must be finite"));
  CHECK_THROWS_WITH(pose_of_quaternion({1, 0, 0, 0}, {0, 0, INFINITY}), doctest::Contains("must be finite"));
  CHECK_THROWS_WITH(pose_of_quaternion({0, 0, 0, 0}, {}), doctest::Contains("no length"));
  const RigidPose rounded = pose_of_matrix({0.98481, -0.17365, 0, 1, 0.17365, 0.98481, 0, 2, 0, 0, 1, 3});
  CHECK(norm(rounded({100, 0, 0}) - rounded({})) == approx(100).epsilon(1e-12));
}

TEST_CASE("a moved table and a moved phantom go the same way") {
  const DetectorTable table(std::vector<Vec3>{{100, 0, 10}, {0, -50, 0}});
  const auto there = moved(table, turned(90, {0, 0, 7}));
  CHECK(is_near(there->position(0).as<double>(), {0, 100, 17}, 1e-4));
  CHECK(is_near(there->position(1).as<double>(), {50, 0, 7}, 1e-4));
  Solid half(Shape::box, {20, 0, 0}, {5, 10, 15}, {10, 20, 30}, {1, 0, 0.5});
  half.activity_Bq_mL = 3;
  const RigidPose pose = pose_of_quaternion({0.9, 0.2, -0.5, 0.4}, {3, -4, 5});
  const Phantom phantom("half", {half}), other = phantom.moved(pose);
  int inside = 0;
  for (double x = -5; x < 45; x += 2.5)
    for (double y = -22; y < 22; y += 2.5)
      for (double z = -22; z < 22; z += 2.5) {
        const double here = phantom.activity_at({x, y, z});
        inside += here > 0 ? 1 : 0;
        CHECK(other.activity_at(pose({x, y, z})) == here);
      }
  CHECK(inside > 50);
}

TEST_CASE("distributions of poses differ by the time spent elsewhere, and by mean places") {
  const RigidPose here, there = turned(0, {0, 0, 8});
  const PoseShares half = {{here, 0.5}, {there, 0.5}}, most = {{there, 0.75}, {here, 0.25}}, still = {{here, 1}};
  CHECK(share_elsewhere(&half, &half) == 0);
  CHECK(share_elsewhere(&half, &most) == approx(0.25));
  CHECK(share_elsewhere(nullptr, &most) == approx(0.75));
  CHECK(share_elsewhere(&still, nullptr) == 0);
  CHECK(mean_distance_mm(&half, &most) == approx(2));
  CHECK(mean_distance_mm(nullptr, &most) == approx(6));
}

TEST_CASE("mean conditions weight poses with exposed time, and say nothing where nobody does") {
  MeanConditions mean;
  EventBatch batch;
  batch.duration_s = 2;
  mean.add(batch);
  CHECK(mean.get().is_empty());
  batch.pose = std::make_shared<const RigidPose>(turned(0, {0, 0, 8}));
  batch.duration_s = 4;
  batch.exposure = 0.25;
  mean.add(batch);
  const Conditions both = mean.get();
  REQUIRE(both.poses);
  CHECK(share_elsewhere(both.poses.get(), nullptr) == approx(1.0 / 3));
  MeanConditions more;
  more.add(both, 3);
  more.add({}, 1);
  CHECK(share_elsewhere(more.get().poses.get(), nullptr) == approx(0.25));
}
// SPDX-License-Identifier: Apache-2.0
