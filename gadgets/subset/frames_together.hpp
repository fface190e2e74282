// The updates of frames that are reconstructed together, such as for parametric images: each update is of one subset of
// every frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/subset_cutter.hpp"
#include "gadgets/subset/whole_stream.hpp"

namespace tofstream {

class FramesTogether {
 public:
  FramesTogether(int iterations, PassOrder order) : iterations_(iterations), order_(order) {}

  /// One more frame, whose data are all there.
  void add(const ScanFrame& frame, WholeStream stream, EventStore& store);
  /// All frames have come, if any: their subsets go out in all iterations, unless a stop cuts them short between two
  /// updates. A frame with fewer subsets than others, since it has fewer events, gives empty ones of no time instead.
  void send(Emit<EventSubset>& emit, Context& context);

 private:
  struct Frame {
    ScanFrame time;
    std::vector<StoredEvents> subsets;
    std::vector<MessageInfo> came;  // with each subset
    std::shared_ptr<const Quantity> quantity;
  };
  // Where in a pass a frame's subset stands.
  struct Place {
    int iteration = 1, number = 0, subset = 0;  // subset: its place in the pass
    std::size_t frame = 0;
  };

  void number_frames();
  void send(const Place& place, Emit<EventSubset>& emit, Context& context);
  EventSubset subset_at(const Place& place);
  std::shared_ptr<const EventBatch> first_batch(std::size_t frame, int number) const;
  void report_misfit(Context& context) const;

  int iterations_;
  PassOrder order_;
  std::vector<Frame> frames_;
  int subsets_ = 0;        // of the frame that has most
  MessageInfo newest_;     // with which the last data came
  Conditions conditions_;  // the mean over all frames
  std::int64_t updates_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
