// The events of a stretch that its visits leave out, copied into a batch of their own, which the direct path takes as
// any other.
#pragma once

#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

/// Copies are queued on the stream. Where there is no such event, nothing is done.
class CutEvents {
 public:
  /// `batch`: the events of which `made` is a stretch; both are kept by the caller. Throws OutOfMemory.
  CutEvents(const Visits& made, const EventView& batch, Stream stream);
  bool empty() const { return view_.count == 0; }
  const EventView& view() const { return view_; }
  /// The cut events' entries of an array of the whole batch; empty where the array is null.
  Buffer<float> of(const float* numbers) const;
  /// Writes the cut events' entries into their places in an array of the whole batch.
  void put(const Buffer<float>& own, float* numbers) const;

 private:
  const Buffer<std::uint32_t>& which_;
  std::int64_t first_event_;
  Stream stream_;
  EventView view_;
  Buffer<std::uint32_t> words_;  // what the view points to, array after array
};

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
