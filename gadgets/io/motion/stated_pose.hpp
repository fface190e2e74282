// Rigid poses over scan time as somebody stated them, to be handed on without another rounding.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kernels/types/rigid_pose.hpp"

namespace tofstream::formats {

/// How a pose is stated: 12 numbers of a 3 x 4 matrix, row after row, the last column the shift in mm; or 7 of a
/// quaternion w, x, y, z and a shift in mm.
enum class PoseForm { matrix, quaternion };
constexpr std::size_t numbers_of(PoseForm form) {
  return form == PoseForm::matrix ? 12 : 7;
}

/// From a time on, something stands so.
struct StatedPose {
  double time_s = 0;
  std::vector<double> numbers;
  friend bool operator==(const StatedPose&, const StatedPose&) = default;
};

/// Throws std::invalid_argument where the numbers are no rotation, or are not as many as the form has.
RigidPose pose_of(PoseForm form, std::span<const double> numbers);

/// Writes the table that read_pose_table reads, with all digits, whole or not at all; `comment` is its first line.
/// Throws std::system_error where it cannot be written.
void write_pose_table(const std::filesystem::path& file, PoseForm form, std::span<const StatedPose> rows,
                      const std::string& comment);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
