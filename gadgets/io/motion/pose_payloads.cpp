// What frames of poses may be, as far as their headers say. Apart from their reader, which fuzzers link without core.
#include "gadgets/io/motion/pose_frames.hpp"
#include "gadgets/io/wire/payload_kinds.hpp"

namespace tofstream::wire {
namespace {

std::string_view objection_to_pose_frame(const FrameHeader& header, std::uint64_t payload_size) {
  if (header.events != 0 || header.first_event != 0) return "poses that count events";
  const std::uint64_t each = pose_bytes(form_of(header.schema));
  return payload_size == 0 || payload_size % each != 0 ? "a payload that is no whole number of poses" : "";
}

std::string_view objection_to_pose_header(const FrameHeader& /*header*/, std::uint64_t payload_size) {
  return payload_size == object_to_scanner.size() || payload_size == scanner_to_object.size()
             ? ""
             : "a header of poses that is neither object_to_scanner nor scanner_to_object";
}

TOFSTREAM_PAYLOAD(pose_header, FrameKind::stream_header, objection_to_pose_header);
TOFSTREAM_PAYLOAD(pose_matrices, FrameKind::data, objection_to_pose_frame);
TOFSTREAM_PAYLOAD(pose_quaternions, FrameKind::data, objection_to_pose_frame);

}  // namespace
}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
