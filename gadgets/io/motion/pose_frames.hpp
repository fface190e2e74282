// Poses in frames of a stream of their own (share/doc/wire.md): a header that says which way they go, frames of poses,
// an end.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "gadgets/io/motion/stated_pose.hpp"
#include "gadgets/io/wire/frame.hpp"

namespace tofstream::wire {

inline constexpr Schema pose_header{8};        // text: object_to_scanner or scanner_to_object
inline constexpr Schema pose_matrices{9};      // 13 float64 a pose: time in s, the matrix
inline constexpr Schema pose_quaternions{10};  // 8 float64 a pose: time in s, quaternion, shift

inline constexpr std::string_view object_to_scanner = "object_to_scanner", scanner_to_object = "scanner_to_object";

inline formats::PoseForm form_of(Schema schema) {
  return schema == pose_quaternions ? formats::PoseForm::quaternion : formats::PoseForm::matrix;
}
/// Bytes of a pose in a payload.
inline std::size_t pose_bytes(formats::PoseForm form) {
  return sizeof(double) * (1 + formats::numbers_of(form));
}

/// The poses of a frame that decode_frame gave, as they stand there: nothing of their numbers is checked.
std::vector<formats::StatedPose> read_poses(const Frame& frame);

/// A frame of poses of one form, at least one: header and payload, which is in place behind room for the header's
/// bytes. Throws std::invalid_argument for another number of numbers than the form has.
struct PoseFrame {
  FrameHeader header;
  std::vector<std::byte> bytes;
};
PoseFrame write_poses(formats::PoseForm form, std::span<const formats::StatedPose> poses);

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
