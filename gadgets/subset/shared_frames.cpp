// Frames of several groups: see shared_frames.hpp.
#include "gadgets/subset/shared_frames.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/subset/resumed_books.hpp"

namespace tofstream {

SharedFrames::SharedFrames(int groups, std::filesystem::path resume_from, int frames)
    : wanted_(groups), resume_from_(std::move(resume_from)), groups_(frame_groups()) {
  if (frames > 0 && groups > frames)
    throw std::invalid_argument(
        fmt::format("groups: {} groups are more than the {} images that they are to share", groups, frames));
  if (groups_) taken_.resize(static_cast<std::size_t>(groups_->groups()));
}

bool SharedFrames::skips(int frame) const {
  if (collects()) return false;
  if (groups_->owner(frame)) return true;
  return !resume_from_.empty() && checkpoint_step(frame_checkpoint(resume_from_, frame)).update > 0;
}

bool SharedFrames::takes(int frame) {
  if (!groups_) return true;
  if (!groups_->collects() && skips(frame)) return false;
  const bool is_here = groups_->claim(frame);
  const int owner = groups_->owner(frame).value_or(0);
  if (const auto at = static_cast<std::size_t>(owner); at < taken_.size()) ++taken_[at];
  return is_here;
}

std::optional<UpdateStep> SharedFrames::image(const FrameToCome& frame, Context& context) const {
  const std::filesystem::path file = groups_->image_of(frame.frame.number);
  context.wait_outside([&] {
    constexpr std::chrono::milliseconds between_looks{5};
    while (!std::filesystem::exists(file) && !context.stopping() && !context.cancelled())
      std::this_thread::sleep_for(between_looks);
  });
  CheckpointStep step = checkpoint_step(file);
  const CheckpointFrame& there = step.frame;
  const bool is_same = there.number == frame.frame.number && there.start_s == frame.frame.start_s &&
                       there.duration_s == frame.frame.duration_s && step.events == frame.events;
  if (step.update == 0 || !is_same) return std::nullopt;
  ResumedBooks(step.rejected).book(frame.events, context);
  step.update = frame.updates_before + std::int64_t{frame.subsets} * step.iteration;
  return recalled_step(frame, step);
}

void SharedFrames::report(Context& context) {
  if (groups_ && groups_->collects()) return context.report("images_of_groups", taken_);
  if (groups_ || wanted_ < 2 || std::exchange(has_told_, true)) return;
  context.log().warning(
      fmt::format("groups: {} are asked for, and only tofstream run starts them: all images are made here", wanted_));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
