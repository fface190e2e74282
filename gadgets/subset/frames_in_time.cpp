// Frames by scan time: see frames_in_time.hpp.
#include "gadgets/subset/frames_in_time.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "gadgets/cut_in_time.hpp"
#include "gadgets/subset/frame_table.hpp"

namespace tofstream {
namespace {

double middle_s(const EventBatch& piece) {
  return piece.start_s + 0.5 * piece.duration_s;
}

}  // namespace

FramesInTime::FramesInTime(std::vector<ScanFrame> frames, std::string from)
    : frames_(std::move(frames)), from_(std::move(from)) {}

std::vector<EventBatch> FramesInTime::cut(EventBatch batch, Context& context) {
  warn_of_long(batch, context);
  ended_s_ = std::max(ended_s_, batch.start_s + batch.duration_s);
  std::vector<double> moments_s;
  for (std::size_t f = at_; f < frames_.size() && frames_[f].start_s < batch.start_s + batch.duration_s; ++f)
    moments_s.insert(moments_s.end(), {frames_[f].start_s, end_s(f)});
  return cut_in_time(std::move(batch), moments_s);
}

bool FramesInTime::ends_before(const EventBatch& piece) const {
  return at_ < frames_.size() && middle_s(piece) >= end_s(at_);
}

bool FramesInTime::takes(const EventBatch& piece) {
  return at_ < frames_.size() && middle_s(piece) >= frames_[at_].start_s;
}

ScanFrame FramesInTime::next() {
  return frames_[at_++];
}

std::optional<ScanFrame> FramesInTime::finish(bool has_events, Context& context) {
  if (at_ == frames_.size()) return std::nullopt;
  if (has_events) shorten_open(context);
  const std::size_t begun = at_ + (has_events ? 1 : 0);
  if (begun < frames_.size()) {
    context.log().warning(fmt::format("the scan ends at {:g} s, before {} of {} frames begin: shorten {}", ended_s_,
                                      frames_.size() - begun, frames_.size(), from_));
    context.report("frames_not_scanned", static_cast<std::int64_t>(frames_.size() - begun));
    for (ScanFrame& each : frames_) each.frames = static_cast<int>(begun);
  }
  return has_events ? std::optional(frames_[at_]) : std::nullopt;
}

void FramesInTime::shorten_open(Context& context) {
  ScanFrame& frame = frames_[at_];
  constexpr double worth_telling = 0.01;
  if (!(end_s(at_) - ended_s_ > worth_telling * frame.duration_s)) return;
  context.log().warning(fmt::format("the scan ends at {:g} s, within {}, whose image is of the {:g} s that there are",
                                    ended_s_, in_words(frame), ended_s_ - frame.start_s));
  frame.duration_s = ended_s_ - frame.start_s;
}

// Events of a batch are taken as spread evenly over its time.
void FramesInTime::warn_of_long(const EventBatch& batch, Context& context) {
  constexpr double longest = 0.2;  // of a frame
  if (warned_of_long_ || at_ == frames_.size() || batch.count < 2) return;
  if (batch.duration_s <= longest * frames_[at_].duration_s) return;
  warned_of_long_ = true;
  context.log().warning(
      fmt::format("events come in batches of {:.2g} s, and {} has {:g} s: which of them lie within it is not known to "
                  "better than that; give the decoder fewer batch_events",
                  batch.duration_s, in_words(frames_[at_]), frames_[at_].duration_s));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
