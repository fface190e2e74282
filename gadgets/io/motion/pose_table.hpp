// Tables of rigid poses over scan time, as trackers and registrations give them: CSV with a line of column names.
#pragma once

#include <filesystem>
#include <vector>

#include "gadgets/io/motion/stated_pose.hpp"
#include "kernels/types/rigid_pose.hpp"

namespace tofstream::formats {

/// From a time on, something stands so.
struct TimedPose {
  double time_s = 0;
  RigidPose pose;
};

/// Reads `time_s` and either a 3 x 4 matrix, row after row, `m00,m01,m02,m03,m10,...,m23` (its last column is the shift
/// in mm), or a quaternion and a shift, `qw,qx,qy,qz,tx_mm,ty_mm,tz_mm`. Columns may come in any order; others are not
/// looked at; lines that begin with # are comments. Throws std::runtime_error, in one line with file and line, for
/// columns that are missing or are no numbers, times that do not ascend, matrices that are no rotation, and a table
/// without a row.
std::vector<TimedPose> read_pose_table(const std::filesystem::path& file);

/// The rows as they stand there, and how they state a pose; throws the same.
struct StatedPoses {
  PoseForm form = PoseForm::matrix;
  std::vector<StatedPose> rows;
};
StatedPoses read_stated_poses(const std::filesystem::path& file);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
