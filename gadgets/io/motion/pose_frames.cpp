// Frames of poses: see pose_frames.hpp.
#include "gadgets/io/motion/pose_frames.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace tofstream::wire {

static_assert(std::endian::native == std::endian::little, "payloads are copied as memory holds them");

std::vector<formats::StatedPose> read_poses(const Frame& frame) {
  const std::size_t numbers = formats::numbers_of(form_of(frame.header.schema));
  std::vector<double> values(frame.payload.size() / sizeof(double));
  std::memcpy(values.data(), frame.payload.data(), values.size() * sizeof(double));
  std::vector<formats::StatedPose> poses;
  for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(1 + numbers))
    poses.push_back({*at, {at + 1, at + 1 + static_cast<std::ptrdiff_t>(numbers)}});
  return poses;
}

PoseFrame write_poses(formats::PoseForm form, std::span<const formats::StatedPose> poses) {
  std::vector<double> values;
  for (const formats::StatedPose& pose : poses) {
    if (pose.numbers.size() != formats::numbers_of(form))
      throw std::invalid_argument("a pose has another number of numbers than its frame");
    values.push_back(pose.time_s);
    values.insert(values.end(), pose.numbers.begin(), pose.numbers.end());
  }
  const auto payload = std::as_bytes(std::span(values));
  PoseFrame frame{.header = {.schema = form == formats::PoseForm::matrix ? pose_matrices : pose_quaternions},
                  .bytes = std::vector<std::byte>(header_bytes + payload.size())};
  std::ranges::copy(payload, frame.bytes.begin() + header_bytes);
  return frame;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
