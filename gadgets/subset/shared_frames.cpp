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

SharedFrames::SharedFrames(int groups, const std::filesystem::path& resume_from, int frames)
    : wanted_(groups), groups_(frame_groups()) {
  if (frames > 0 && groups > frames)
    throw std::invalid_argument(
        fmt::format("groups: {} groups are more than the {} images that they are to share", groups, frames));
  if (!groups_) return;
  made_.resize(static_cast<std::size_t>(groups_->groups()));
  if (resume_from.empty()) return;
  while (checkpoint_step(frame_checkpoint(resume_from, recalled_ + 1)).update > 0) ++recalled_;
}

bool SharedFrames::skips(int frame) const {
  if (!groups_ || groups_->collects()) return false;
  return frame <= recalled_ || groups_->owner(frame);
}

bool SharedFrames::takes(int frame) const {
  if (!groups_) return true;
  return !groups_->collects() && !skips(frame) && groups_->claim(frame);
}

std::optional<UpdateStep> SharedFrames::image(const FrameToCome& frame, Context& context) {
  const int number = frame.frame.number;
  if (number <= recalled_) return std::nullopt;
  const std::filesystem::path file = groups_->image_of(number);
  context.wait_outside([&] {
    constexpr std::chrono::milliseconds between_looks{5};
    while (!groups_->has_image(number) && !context.stopping() && !context.cancelled())
      std::this_thread::sleep_for(between_looks);
  });
  CheckpointStep step = checkpoint_step(file);
  const CheckpointFrame& there = step.frame;
  const bool is_same = there.number == number && there.start_s == frame.frame.start_s &&
                       there.duration_s == frame.frame.duration_s && step.events == frame.events;
  if (step.update == 0 || !is_same) return std::nullopt;
  if (const int owner = groups_->owner(number).value_or(0); owner > 0) ++made_.at(static_cast<std::size_t>(owner - 1));
  ResumedBooks(step.rejected).book(frame.events, context);
  step.update = frame.updates_before + std::int64_t{frame.subsets} * step.iteration;
  return recalled_step(frame, step);
}

void SharedFrames::report(Context& context) {
  if (collects()) return context.report("images_of_groups", made_);
  if (groups_ || wanted_ < 2 || std::exchange(has_told_, true)) return;
  context.log().warning(
      fmt::format("groups: {} are asked for, and only tofstream run has them: all images are made here", wanted_));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
