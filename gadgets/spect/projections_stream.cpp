// A file of a camera's views as the frames of a live stream, for `tofstream send`: a view a frame.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gadgets/io/random_identity.hpp"
#include "gadgets/spect/io/view_frames.hpp"
#include "gadgets/spect/io/view_reader.hpp"
#include "gadgets/wire/stream_file.hpp"

namespace tofstream {
namespace {

class ProjectionsStream final : public StreamFile {
 public:
  explicit ProjectionsStream(const std::filesystem::path& file)
      : reader_(formats::open_views(file)), view_(reader_->next()) {}

  std::optional<std::vector<std::byte>> next() override {
    if (sequence_ == 0) return sealed(header());
    if (!view_) return std::exchange(has_ended_, true) ? std::nullopt : std::optional(sealed(end()));
    wire::ViewFrame frame = wire::write_views(*view_, wire::ViewPixels::automatic);
    scanned_ns_ = std::max(scanned_ns_, frame.header.start_ns + frame.header.duration_ns);
    view_ = reader_->next();
    return sealed(std::move(frame));
  }
  std::uint64_t scanned_ns() const override { return scanned_ns_; }

 private:
  // What the views show, the first one knows; a file has one.
  wire::ViewFrame header() const {
    const auto text =
        wire::write_camera_header(*reader_->set(), view_ && view_->quantity ? *view_->quantity : Quantity{});
    wire::ViewFrame frame{.header = {.kind = wire::FrameKind::stream_header, .schema = wire::camera_header},
                          .bytes = std::vector<std::byte>(wire::header_bytes + text.size())};
    std::ranges::copy(text, frame.bytes.begin() + wire::header_bytes);
    return frame;
  }
  wire::ViewFrame end() const {
    return {.header = {.kind = wire::FrameKind::end, .start_ns = scanned_ns_},
            .bytes = std::vector<std::byte>(wire::header_bytes)};
  }

  std::vector<std::byte> sealed(wire::ViewFrame frame) {
    frame.header.stream = stream_;
    frame.header.sequence = sequence_++;
    frame.header.first_event = events_;
    events_ += frame.header.events;
    wire::seal_frame(frame.header, frame.bytes);
    return std::move(frame.bytes);
  }

  const std::unique_ptr<formats::ViewReader> reader_;
  std::optional<ViewBatch> view_;  // the next one
  const std::uint64_t stream_ = random_identity();
  std::uint64_t sequence_ = 0, events_ = 0, scanned_ns_ = 0;
  bool has_ended_ = false;
};

std::unique_ptr<StreamFile> open_stream_of_projections(const std::filesystem::path& file) {
  return std::make_unique<ProjectionsStream>(file);
}

TOFSTREAM_STREAM_FILE("projections", formats::are_views, open_stream_of_projections);

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
