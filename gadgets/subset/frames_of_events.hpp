// Frames that end when so many events have come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gadgets/subset/frame_cut.hpp"

namespace tofstream {

/// Which events a frame has does not depend on batches. Its time begins and ends with its events', which are taken as
/// spread evenly over the time of their batch.
class FramesOfEvents : public FrameCut {
 public:
  /// `events`: of each frame but the last, which has those that are left. `from_s`: where the first frame begins.
  FramesOfEvents(std::int64_t events, double from_s) : events_(events), from_s_(from_s) {}

  std::vector<EventBatch> cut(EventBatch batch, Context& context) override;
  bool ends_before(const EventBatch&) const override { return is_full(); }
  bool takes(const EventBatch& piece) override;
  ScanFrame next() override;
  std::optional<ScanFrame> finish(bool has_events, Context& context) override;
  int frames() const override { return open_.number - (open_events_ > 0 ? 0 : 1); }

 private:
  bool is_full() const { return open_events_ == events_; }
  bool lies_before(const EventBatch& piece) const;
  std::vector<EventBatch> cut_where_frames_end(EventBatch batch) const;
  void warn_of_long(const EventBatch& batch, Context& context);

  std::int64_t events_;
  double from_s_;
  ScanFrame open_{.number = 1};
  std::int64_t open_events_ = 0;
  // What a window has emptied behind a full frame: of the next one, if it gets any events.
  std::vector<EventBatch> emptied_;
  bool warned_of_long_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
