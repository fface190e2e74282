// What frames of views may be, as far as their headers say. Apart from their reader, which fuzzers link without core.
#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/wire/payload_kinds.hpp"
#include "gadgets/spect/io/view_frames.hpp"

namespace tofstream::wire {
namespace {

std::string_view objection_to_views(const FrameHeader& header, std::uint64_t payload_size) {
  return payload_size < view_frame_head + bytes_a_view + pixel_bytes(header.schema) ? "views without a pixel" : "";
}

std::string_view objection_to_camera(const FrameHeader& /*header*/, std::uint64_t payload_size) {
  return payload_size > formats::largest_interfile_header ? "an Interfile header that is too long" : "";
}

TOFSTREAM_PAYLOAD(views_of_floats, FrameKind::data, objection_to_views);
TOFSTREAM_PAYLOAD(views_of_integers, FrameKind::data, objection_to_views);
TOFSTREAM_PAYLOAD(camera_header, FrameKind::stream_header, objection_to_camera);

}  // namespace
}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
