// Frames whose times are known before the scan.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gadgets/subset/frame_cut.hpp"

namespace tofstream {

/// Events of a batch are taken as spread evenly over its time; a piece belongs to the frame in which its middle lies.
class FramesInTime : public FrameCut {
 public:
  /// `from`: where the user wrote them, for messages.
  FramesInTime(std::vector<ScanFrame> frames, std::string from);

  std::vector<EventBatch> cut(EventBatch batch, Context& context) override;
  bool ends_before(const EventBatch& piece) const override;
  bool takes(const EventBatch& piece) override;
  ScanFrame next() override;
  std::optional<ScanFrame> finish(bool has_events, Context& context) override;
  int frames() const override { return static_cast<int>(frames_.size()); }

 private:
  double end_s(std::size_t frame) const { return frames_[frame].start_s + frames_[frame].duration_s; }
  void shorten_open(Context& context);
  void warn_of_long(const EventBatch& batch, Context& context);

  std::vector<ScanFrame> frames_;
  std::string from_;
  std::size_t at_ = 0;  // the frame that is open
  double ended_s_ = 0;  // scan time of the last event so far
  bool warned_of_long_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
