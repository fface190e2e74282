// A camera's views from frames: see share/doc/wire.md, schemas 5 to 7.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/spect/io/view_frames.hpp"
#include "gadgets/wire/stream_content.hpp"

namespace tofstream {
namespace {

std::string why_no_views(std::span<const std::byte> header, std::span<const std::byte> first) {
  try {
    const wire::CameraStream stream = wire::read_camera_header(header);
    if (first.empty() || *stream.set == *wire::read_camera_header(first).set) return "";
    return "its camera, or the plan of its views, is another than the first stream's";
  } catch (const std::runtime_error& error) {
    return fmt::format("its header cannot be used, {}", error.what());
  }
}

class ViewContent final : public StreamContent {
 public:
  ViewContent(std::span<const std::byte> header, const StreamOutlet& outlet)
      : stream_(wire::read_camera_header(header)), outlet_(outlet) {}

  // Views have their times by the plan in the header, so those of a sender that began again need no shift.
  void take(const wire::Frame& frame, std::int64_t /*shift_ns*/) override {
    if (frame.header.schema != wire::views_of_floats && frame.header.schema != wire::views_of_integers)
      return outlet_.reject(frame.header, other_data);
    if (views_ == 0) outlet_.require_reader("views", "a camera's views");
    std::string wrong;
    auto batch = std::make_shared<ViewBatch>(wire::read_views(frame, stream_, wrong));
    if (!wrong.empty()) {
      outlet_.note_bad(
          {wire::FrameFault::contents, fmt::format("frame {}: {}: fix the sender", frame.header.sequence, wrong)});
      return outlet_.reject(frame.header, "in views that the camera cannot have counted");
    }
    outlet_.context.books().received(frame.header.events);
    views_ += static_cast<std::int64_t>(batch->records.size());
    outlet_.emit({.views = std::move(batch)});
  }

  void finish(bool /*has_ended*/) override {
    const ViewSet& set = *stream_.set;
    if (!set.name.empty()) outlet_.context.report("camera", set.name);
    outlet_.context.report("planned_views", static_cast<std::int64_t>(set.places.size()));
    outlet_.context.report("views", views_);
  }

 private:
  const wire::CameraStream stream_;
  const StreamOutlet outlet_;
  std::int64_t views_ = 0;
};

std::unique_ptr<StreamContent> open_stream_of_views(std::span<const std::byte> header, const StreamOutlet& outlet) {
  return std::make_unique<ViewContent>(header, outlet);
}

TOFSTREAM_STREAM(wire::camera_header, why_no_views, open_stream_of_views);

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
