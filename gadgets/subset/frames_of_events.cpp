// Frames by events: see frames_of_events.hpp.
#include "gadgets/subset/frames_of_events.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/cut_in_time.hpp"
#include "gadgets/io/dynamic/frame_times_table.hpp"
#include "gadgets/subset/frame_table.hpp"
#include "kernels/sort/partition.hpp"

namespace tofstream {

std::vector<EventBatch> FramesOfEvents::cut(EventBatch batch, Context& context) {
  if (batch.count == 0 && is_full()) {
    emptied_.push_back(std::move(batch));
    return {};
  }
  warn_of_long(batch, context);
  std::vector<EventBatch> pieces = std::exchange(emptied_, {});
  for (EventBatch& part : cut_in_time(std::move(batch), std::span(&from_s_, 1)))
    if (lies_before(part) || part.count == 0)
      pieces.push_back(std::move(part));
    else
      std::ranges::move(cut_where_frames_end(std::move(part)), std::back_inserter(pieces));
  return pieces;
}

std::vector<EventBatch> FramesOfEvents::cut_where_frames_end(EventBatch batch) const {
  std::vector<std::int64_t> ends;
  for (std::int64_t end = is_full() ? events_ : events_ - open_events_; end < batch.count; end += events_)
    ends.push_back(end);
  return split_by_arrival(std::move(batch), ends, copy_stream(), ArrivalRanks::kept);
}

bool FramesOfEvents::lies_before(const EventBatch& piece) const {
  return piece.start_s + 0.5 * piece.duration_s < from_s_;
}

bool FramesOfEvents::takes(const EventBatch& piece) {
  if (lies_before(piece)) return false;
  open_events_ += piece.count;
  if (!(piece.duration_s > 0)) return true;  // no events: it brings something else
  const bool is_first = open_.duration_s == 0;
  const double end_s = std::max(open_.start_s + open_.duration_s, piece.start_s + piece.duration_s);
  open_.start_s = is_first ? piece.start_s : std::min(open_.start_s, piece.start_s);
  open_.duration_s = end_s - open_.start_s;
  return true;
}

ScanFrame FramesOfEvents::next() {
  if (open_.number == formats::most_frames)
    throw std::runtime_error(fmt::format("frames_of_events: {} events a frame make more than {} frames: write more",
                                         events_, formats::most_frames));
  open_events_ = 0;
  return std::exchange(open_, {.number = open_.number + 1});
}

std::optional<ScanFrame> FramesOfEvents::finish(bool has_events, Context& context) {
  if (!has_events) return std::nullopt;
  open_.frames = open_.number;
  if (!is_full())
    context.log().info(fmt::format("{} has the {} events that are left of {}", in_words(open_), open_events_, events_));
  return open_;
}

// A frame's events are known, but not when within their batch they came.
void FramesOfEvents::warn_of_long(const EventBatch& batch, Context& context) {
  constexpr double longest = 0.2;  // of a frame
  if (warned_of_long_ || static_cast<double>(batch.count) <= longest * static_cast<double>(events_)) return;
  warned_of_long_ = true;
  context.log().warning(fmt::format(
      "events come in batches of {}, and a frame has {}: when it begins and ends is not known to better than "
      "{:.2g} s; give the decoder fewer batch_events",
      batch.count, events_, batch.duration_s));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
