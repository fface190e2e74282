// Frames that are not reconstructed again: see recalled_frames.hpp.
#include "gadgets/subset/recalled_frames.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gadgets/subset/resumed_books.hpp"
#include "gadgets/update/rest.hpp"

namespace tofstream {
namespace {

std::string in_words(const CheckpointFrame& frame, bool is_gate) {
  const std::string of_all = frame.frames > 0 ? fmt::format(" of {}", frame.frames) : "";
  return fmt::format("{} {}{} ({:g} to {:g} s)", is_gate ? "gate" : "frame", frame.number, of_all, frame.start_s,
                     frame.start_s + frame.duration_s);
}

}  // namespace

UpdateStep recalled_step(const FrameToCome& frame, const CheckpointStep& step) {
  return UpdateStep{.iteration = step.iteration,
                    .iterations = step.iteration,
                    .subset = frame.subsets - 1,
                    .subsets = frame.subsets,
                    .ends_iteration = true,
                    .last = frame.frame.number == frame.frame.frames,
                    .update = step.update,
                    .replayed = true,
                    .recalled = true,
                    .gate = frame.gate,
                    .frame = frame.frame};
}

RecalledFrames::RecalledFrames(std::filesystem::path folder) : folder_(std::move(folder)), is_over_(folder_.empty()) {
  if (!is_over_ && checkpoint_step(folder_).update > 0)
    throw std::runtime_error(
        fmt::format("resume_from: the checkpoint in {} is of a run without frames, and this one has some: leave it out",
                    folder_.string()));
}

std::optional<UpdateStep> RecalledFrames::recall(const FrameToCome& here, Context& context) {
  if (is_over_) return std::nullopt;
  const CheckpointStep step = checkpoint_step(frame_checkpoint(folder_, here.frame.number));
  if (step.update == 0 || is_cut_short(step, here)) {
    is_over_ = true;
    return std::nullopt;
  }
  require_same(step, here);
  events_ += here.events;
  ResumedBooks({step.rejected.events - std::exchange(rejected_, step.rejected.events), step.rejected.reason})
      .book(here.events, context);
  if (frames_ == 0)
    context.log().info(fmt::format("images that are complete come from the checkpoints in {}", folder_.string()));
  context.report("frames_recalled", ++frames_);
  return recalled_step(here, step);
}

// The scan had ended, or was stopped, before all events of the frame were there.
bool RecalledFrames::is_cut_short(const CheckpointStep& step, const FrameToCome& here) const {
  const CheckpointFrame& frame = step.frame;
  if (frame.number != frame.frames || frame.start_s != here.frame.start_s) return false;
  return frame.duration_s < here.frame.duration_s || step.events < events_ + here.events;
}

void RecalledFrames::require_same(const CheckpointStep& step, const FrameToCome& here) const {
  const auto refuse = [&](const std::string& what) {
    throw std::runtime_error(
        fmt::format("resume_from: {} has {}: resume with the settings and data of the run that "
                    "was killed, or leave resume_from out",
                    frame_checkpoint(folder_, here.frame.number).string(), what));
  };
  const CheckpointFrame& frame = step.frame;
  const bool was_last = frame.number == frame.frames;  // of those that were scanned
  if (frame.number != here.frame.number || (frame.frames != here.frames && !was_last) ||
      frame.start_s != here.frame.start_s || frame.duration_s != here.frame.duration_s)
    refuse(fmt::format(
        "{}, which here is {}", in_words(frame, here.gate > 0),
        in_words({here.frame.number, here.frames, here.frame.start_s, here.frame.duration_s}, here.gate > 0)));
  const std::int64_t made = step.update - here.updates_before;
  if (made != std::int64_t{here.subsets} * step.iteration ||
      (step.iteration != here.iterations && !(was_at_rest(step.kept) && step.iteration < here.iterations)))
    refuse(fmt::format("update {} of iteration {} as its frame's last one, which here is update {} of iteration {}",
                       step.update, step.iteration, here.updates_before + std::int64_t{here.subsets} * here.iterations,
                       here.iterations));
  if (step.events != events_ + here.events)
    refuse(fmt::format("the image of the first {} events, and {} came here", step.events, events_ + here.events));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
