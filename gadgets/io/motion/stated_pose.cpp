// Poses as they were stated: see stated_pose.hpp.
#include "gadgets/io/motion/stated_pose.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/atomic_file.hpp"

namespace tofstream::formats {

RigidPose pose_of(PoseForm form, std::span<const double> numbers) {
  if (numbers.size() != numbers_of(form))
    throw std::invalid_argument(fmt::format("a pose has {} numbers here, not {}", numbers_of(form), numbers.size()));
  if (form == PoseForm::quaternion)
    return pose_of_quaternion({numbers[0], numbers[1], numbers[2], numbers[3]}, {numbers[4], numbers[5], numbers[6]});
  std::array<double, 12> matrix{};
  std::ranges::copy(numbers, matrix.begin());
  return pose_of_matrix(matrix);
}

void write_pose_table(const std::filesystem::path& file, PoseForm form, std::span<const StatedPose> rows,
                      const std::string& comment) {
  std::string text = fmt::format("# {}\n", comment);
  text += form == PoseForm::matrix ? "time_s,m00,m01,m02,m03,m10,m11,m12,m13,m20,m21,m22,m23\n"
                                   : "time_s,qw,qx,qy,qz,tx_mm,ty_mm,tz_mm\n";
  for (const StatedPose& row : rows) text += fmt::format("{},{}\n", row.time_s, fmt::join(row.numbers, ","));
  AtomicFile written(file);
  written.write(text);
  written.commit();
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
