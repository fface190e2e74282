// A camera's views on the wire: the stream's header is the text of an Interfile header, each frame holds some views of
// one energy window, as float32 or uint16. share/doc/wire.md has the payload byte by byte (schemas 5, 6 and 7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/value/param_rules.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "kernels/types/quantity.hpp"
#include "kernels/types/views.hpp"

namespace tofstream::wire {

inline constexpr Schema views_of_floats{5}, views_of_integers{6}, camera_header{7};

/// Bytes before the first view's numbers; of a view's numbers; of a pixel.
inline constexpr std::size_t view_frame_head = 2 * sizeof(std::uint32_t);
inline constexpr std::size_t bytes_a_view = sizeof(double) + sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr std::size_t pixel_bytes(Schema schema) {
  return schema == views_of_integers ? sizeof(std::uint16_t) : sizeof(float);
}

/// What the header of a stream of views says.
struct CameraStream {
  std::shared_ptr<const ViewSet> set;
  std::shared_ptr<const Quantity> quantity;
};

/// The payload of the stream header's frame. Throws std::runtime_error, one line, where there are too many views.
std::vector<std::byte> write_camera_header(const ViewSet& set, const Quantity& quantity);
/// Throws std::runtime_error of one line where the text is no header of a camera's views.
CameraStream read_camera_header(std::span<const std::byte> payload);

/// How the pixels of views are sent: as uint16 where each is a whole number that it holds, otherwise as float32; or one
/// of the two.
enum class ViewPixels { automatic, float32, uint16 };
constexpr auto enum_names(ViewPixels) {
  return names(ViewPixels::automatic, "auto", ViewPixels::float32, "float32", ViewPixels::uint16, "uint16");
}

/// A frame of views, its payload behind room for the header, which its sender numbers and seals.
struct ViewFrame {
  FrameHeader header;
  std::vector<std::byte> bytes;
};

/// The views of a batch in host memory, with the counts that the books have. Throws std::invalid_argument for views
/// without counts or with corrections, and for pixels that uint16 does not hold.
ViewFrame write_views(const ViewBatch& batch, ViewPixels pixels);

/// The views of a frame of data (decode_frame), copied to the host, without index and weight. `wrong` says, in words
/// that follow "frame 3: ", what the camera cannot have counted; the views then do not count.
ViewBatch read_views(const Frame& frame, const CameraStream& stream, std::string& wrong);

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
