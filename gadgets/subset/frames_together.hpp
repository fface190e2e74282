// The updates of frames that are reconstructed together, such as for parametric images: each update is of one subset of
// every frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/resumed_updates.hpp"
#include "gadgets/subset/subset_cutter.hpp"
#include "gadgets/subset/whole_stream.hpp"

namespace tofstream {

class FramesTogether {
 public:
  /// `resumed`: updates up to this one are not made again, since their image is there.
  FramesTogether(int iterations, PassOrder order, CheckpointStep resumed)
      : iterations_(iterations), order_(order), resumed_(std::move(resumed)) {}

  /// One more frame, whose data are all there.
  void add(const ScanFrame& frame, WholeStream stream, EventStore& store);
  /// All frames have come, if any: their subsets go out in all iterations, unless a stop cuts them short between two
  /// updates. A frame with fewer subsets than others, since it has fewer events, gives empty ones of no time instead.
  /// Where no update is left to be made, each frame's image is sent for. Throws std::runtime_error where the checkpoint
  /// is of other frames.
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
  bool send_passes(Emit<EventSubset>& emit, Context& context);
  void send_recalled(Emit<EventSubset>& emit, Context& context);
  void send(const Place& place, Emit<EventSubset>& emit, Context& context);
  EventSubset subset_at(const Place& place);
  std::vector<std::shared_ptr<const EventBatch>> batches_of(std::size_t frame, int number) const;
  void report_misfit(Context& context) const;

  int iterations_;
  PassOrder order_;
  std::vector<Frame> frames_;
  int subsets_ = 0;        // of the frame that has most
  MessageInfo newest_;     // with which the last data came
  Conditions conditions_;  // the mean over all frames
  std::int64_t updates_ = 0;
  ResumedUpdates resumed_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
