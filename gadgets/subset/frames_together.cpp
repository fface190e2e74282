// Frames that are reconstructed together: see frames_together.hpp.
#include "gadgets/subset/frames_together.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gadgets/subset/conditions_so_far.hpp"

namespace tofstream {

void FramesTogether::add(const ScanFrame& frame, WholeStream stream, EventStore& store) {
  Frame& added = frames_.emplace_back(Frame{.time = frame, .subsets = {}, .came = {}, .quantity = {}});
  stream.cut(
      store, [](int, const Conditions&) {},
      [&](StoredEvents subset, const MessageInfo& data) {
        added.subsets.push_back(std::move(subset));
        added.came.push_back(data);
      });
  added.quantity = stream.quantity();
  subsets_ = std::max(subsets_, static_cast<int>(added.subsets.size()));
  newest_ = added.came.back();
}

void FramesTogether::send(Emit<EventSubset>& emit, Context& context) {
  if (frames_.empty()) return;
  number_frames();
  MeanConditions mean;
  for (const Frame& frame : frames_)
    for (const StoredEvents& subset : frame.subsets) mean.add(subset.conditions, subset.exposed_s);
  conditions_ = mean.get();
  warn_of_order(order_, subsets_, context);
  report_misfit(context);
  if (!send_passes(emit, context)) return;
  resumed_.finish(updates_);
  if (updates_ == resumed_.last()) send_recalled(emit, context);
}

// False where a stop has cut them short.
bool FramesTogether::send_passes(Emit<EventSubset>& emit, Context& context) {
  for (int iteration = 1; iteration <= iterations_; ++iteration) {
    const std::vector<int> numbers = pass_order(order_, subsets_, iteration);
    for (int subset = 0; subset < subsets_; ++subset) {
      if (context.stopping()) {
        context.log().info(fmt::format("stopped in iteration {} of {}, after {} of {} subsets", iteration, iterations_,
                                       subset, subsets_));
        context.report("iterations_left_out", iterations_ - iteration + 1);
        return false;
      }
      ++updates_;
      for (std::size_t frame = 0; frame < frames_.size(); ++frame)
        send({iteration, numbers[static_cast<std::size_t>(subset)], subset, frame}, emit, context);
    }
  }
  return true;
}

// The image after the last update is there, and is all that is left to be written.
void FramesTogether::send_recalled(Emit<EventSubset>& emit, Context& context) {
  for (const Frame& frame : frames_) {
    context.made_from(newest_);
    EventSubset asked;
    asked.step = {.iteration = iterations_,
                  .iterations = iterations_,
                  .subset = subsets_ - 1,
                  .subsets = subsets_,
                  .ends_iteration = true,
                  .last = &frame == &frames_.back(),
                  .update = updates_,
                  .replayed = true,
                  .recalled = true,
                  .frame = frame.time,
                  .is_joint = true};
    asked.quantity = frame.quantity;
    emit(std::move(asked));
  }
}

// A scan may have ended before all of them began.
void FramesTogether::number_frames() {
  for (Frame& frame : frames_) frame.time.frames = static_cast<int>(frames_.size());
}

// As OfflineUpdates: a replay is no answer to any event, so its times are the newest that are in.
void FramesTogether::send(const Place& place, Emit<EventSubset>& emit, Context& context) {
  const std::vector<MessageInfo>& came = frames_[place.frame].came;
  const MessageInfo& own = came[std::min(static_cast<std::size_t>(place.number), came.size() - 1)];
  MessageInfo data = place.iteration == 1 ? own : newest_;
  data.first_event = own.first_event;
  data.end_event = own.end_event;
  EventSubset subset = subset_at(place);
  if (resumed_.has(subset.step))
    return resumed_.pass(subset.step, subset.event_count(), place.frame + 1 == frames_.size(), context);
  context.made_from(data);
  emit(std::move(subset));
}

EventSubset FramesTogether::subset_at(const Place& place) {
  Frame& frame = frames_[place.frame];
  const bool ends_update = place.frame + 1 == frames_.size();
  const bool ends_pass = ends_update && place.subset + 1 == subsets_, ends_all = place.iteration == iterations_;
  EventSubset made;
  made.step = {.iteration = place.iteration,
               .iterations = iterations_,
               .subset = place.subset,
               .subsets = subsets_,
               .ends_iteration = ends_pass,
               .last = ends_pass && ends_all,
               .update = updates_,
               .number = static_cast<int>(place.frame) * subsets_ + place.number,
               .frame = frame.time,
               .is_joint = true};
  made.time_fraction = 0;
  made.quantity = frame.quantity;
  made.conditions = conditions_;
  if (!ends_update) made.next_batches = batches_of(place.frame + 1, place.number);
  if (static_cast<std::size_t>(place.number) >= frame.subsets.size()) return made;
  StoredEvents& stored = frame.subsets[static_cast<std::size_t>(place.number)];
  made.batches = stored.batches;
  made.time_fraction = stored.time_fraction;
  made.is_last_time = ends_all;
  if (ends_all) stored.batches.clear();
  return made;
}

std::vector<std::shared_ptr<const EventBatch>> FramesTogether::batches_of(std::size_t frame, int number) const {
  const auto& subsets = frames_[frame].subsets;
  if (static_cast<std::size_t>(number) >= subsets.size()) return {};
  return subsets[static_cast<std::size_t>(number)].batches;
}

void FramesTogether::report_misfit(Context& context) const {
  ConditionsMisfit misfit(
      "values of that frame are wrong by as much: parametric images need frames of like conditions");
  for (const Frame& frame : frames_)
    for (const StoredEvents& subset : frame.subsets) misfit.note(subset.conditions, conditions_);
  misfit.report(context);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
