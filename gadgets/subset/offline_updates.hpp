// The updates of an offline reconstruction, whatever kind of data its subsets are of: each subset goes out as it comes,
// or all in an order of their own once they have come, and all of them again for every further iteration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/conditions_so_far.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/resumed_updates.hpp"
#include "gadgets/subset/stored_subset.hpp"
#include "gadgets/subset/subset_data.hpp"

namespace tofstream {

inline constexpr auto* resume_offline_words =
    "Folder of a run that was killed: this run continues from its checkpoint, with the same data and settings";

struct OfflineSettings {
  int iterations = 1;
  // A subset goes out only when the next one has come: a rest may still join it, and while it is projected, the next
  // one can be copied to a GPU.
  bool holds_last = false;
  PassOrder order = {};
  // Where these updates are one frame's, of several.
  ScanFrame frame = {};
  std::int64_t updates_before = 0;
  std::shared_ptr<const std::vector<double>> gate_times = {};  // see Subset
  CheckpointStep resumed = {};  // updates up to this one are not made again: their image is there
};

/// `Data`: see Subset.
template <class Data>
class OfflineUpdates {
 public:
  /// `quantity`: what an image of all data so far shows.
  OfflineUpdates(OfflineSettings settings, std::function<std::shared_ptr<const Quantity>()> quantity)
      : settings_(settings),
        quantity_(std::move(quantity)),
        updates_(settings.updates_before),
        resumed_(settings.resumed) {}

  /// The scanner is known; only the first call counts. `like`: a batch without data.
  void announce(Data like, Emit<Subset<Data>>& emit, Context& context) {
    if (std::exchange(is_announced_, true)) return;
    context.made_from(of_no_event(context.message()));
    Subset<Data> announcement = announcement_of(std::move(like));
    announcement.conditions = so_far_.get();
    emit(std::move(announcement));
  }

  /// Before the first subset, where the data say it.
  void set_order(PassOrder order) { settings_.order = order; }

  /// Those of the first events, of which subsets go out as they come; before they are announced. Where this is not
  /// called and the announced batch has conditions, the sensitivity waits for the first subset.
  void begin(Conditions first) {
    if (!is_announced_) so_far_.begin(std::move(first));
  }
  /// The mean over all data, where this is known before the first subset.
  void set_conditions(Conditions whole) { whole_ = std::move(whole), is_whole_ = true; }

  /// How many subsets come in all, if this is known before the first.
  void expect(int subsets) { expect(subsets, {}); }
  /// The same where some of `subsets` have no data: those that come are `numbers`, ascending.
  void expect(int subsets, std::vector<int> numbers) {
    expected_ = numbers.empty() ? subsets : static_cast<int>(numbers.size());
    numbered_ = subsets;
    numbers_ = std::move(numbers);
  }

  /// One more subset, of these data. A rest joins the one before it, which must still be held.
  void arrive(StoredSubset<Data> subset, const MessageInfo& data, Emit<Subset<Data>>& emit, Context& context) {
    if (subset.is_rest) {
      subsets_.back().join(std::move(subset));
      came_.back() = data_between(came_.back(), data);
      return;
    }
    subsets_.push_back(std::move(subset));
    came_.push_back(data);
    if (settings_.order.rule != PassRule::sequential) return;  // until all have come
    send_first_pass(subsets_.size() - (settings_.holds_last ? 1 : 0), emit, context);
  }

  /// Updates so far, of earlier frames too.
  std::int64_t updates() const { return updates_; }

  /// The stream has ended: the subset that is held goes out, then the further iterations, unless a stop cuts them
  /// short. Throws std::runtime_error, as arrive() does, where the checkpoint is of other subsets.
  void finish(Emit<Subset<Data>>& emit, Context& context) {
    if (settings_.order.rule != PassRule::sequential && expected_ == 0) expect(static_cast<int>(subsets_.size()));
    warn_of_order(settings_.order, numbered_ > 0 ? numbered_ : static_cast<int>(subsets_.size()), context);
    send_first_pass(subsets_.size(), emit, context);
    if (!is_whole_) set_conditions(mean_conditions());
    const int count = static_cast<int>(subsets_.size());
    for (int iteration = 2; iteration <= settings_.iterations; ++iteration)
      for (int place = 0; place < count; ++place) {
        if (context.stopping()) return say_stopped(iteration, place, context);
        send(iteration, place, count, emit, context);
      }
    resumed_.finish(updates_);
    misfit_.report(context);
  }

 private:
  // The subset at a place of a pass.
  std::size_t subset_at(int iteration, int place) {
    if (settings_.order.rule == PassRule::sequential) return static_cast<std::size_t>(place);
    if (std::exchange(pass_of_, iteration) != iteration) pass_ = pass(iteration);
    return static_cast<std::size_t>(pass_[static_cast<std::size_t>(place)]);
  }

  std::vector<int> pass(int iteration) const {
    const int numbered = numbered_ > 0 ? numbered_ : static_cast<int>(subsets_.size());
    std::vector<int> order = pass_order(settings_.order, numbered, iteration);
    if (numbers_.empty()) return order;
    std::vector<int> of_those_that_came;
    for (const int number : order)
      if (const auto at = std::ranges::find(numbers_, number); at != numbers_.end())
        of_those_that_came.push_back(static_cast<int>(at - numbers_.begin()));
    return of_those_that_came;
  }

  void send_first_pass(std::size_t end, Emit<Subset<Data>>& emit, Context& context) {
    while (sent_ < end) send(1, static_cast<int>(sent_++), expected_, emit, context);
  }

  // A replay is no answer to any event: its times are the newest that are in.
  void send(int iteration, int place, int count, Emit<Subset<Data>>& emit, Context& context) {
    const MessageInfo& own = came_[subset_at(iteration, place)];
    MessageInfo data = iteration == 1 ? own : came_.back();
    data.first_event = own.first_event;
    data.end_event = own.end_event;
    Subset<Data> subset = next(iteration, place, count);
    if (resumed_.has(subset.step)) return resumed_.pass(subset.step, subset.event_count(), true, context);
    context.made_from(data);
    emit(std::move(subset));
  }

  // `count`: the subsets of an iteration; 0: not known. A subset that goes out for the last time is no longer kept.
  Subset<Data> next(int iteration, int place, int count) {
    const bool ends = count > 0 && place + 1 == count;
    const bool last_time = iteration == settings_.iterations;
    const std::size_t number = subset_at(iteration, place);
    StoredSubset<Data>& stored = subsets_[number];
    const bool is_last = ends && last_time && settings_.frame.number == settings_.frame.frames;
    UpdateStep step{iteration, settings_.iterations, place, count, ends, is_last, ++updates_};
    step.number = static_cast<int>(number);
    step.frame = settings_.frame;
    step.gate = stored.gate;
    Subset<Data> subset{step, stored.batches, stored.time_fraction};
    subset.next_batches = batches_after(iteration, place, ends);
    subset.is_last_time = last_time;
    subset.quantity = quantity_();
    subset.gate_times = settings_.gate_times;
    subset.conditions = conditions_for(number);
    misfit_.note(stored.conditions, subset.conditions);
    if (last_time) stored.batches.clear();
    return subset;
  }

  // In a first pass of subsets that go out as they come, the mean over those so far.
  Conditions conditions_for(std::size_t number) {
    if (is_whole_) return whole_;
    for (; added_ <= number; ++added_) so_far_.add(subsets_[added_].conditions, subsets_[added_].exposed_s);
    return so_far_.get();
  }

  Conditions mean_conditions() const {
    MeanConditions mean;
    for (const StoredSubset<Data>& subset : subsets_) mean.add(subset.conditions, subset.exposed_s);
    return mean.get();
  }

  // None where it has not come, or none follows.
  std::vector<std::shared_ptr<const Data>> batches_after(int iteration, int place, bool ends) {
    const int following = ends ? 0 : place + 1;
    if (following >= static_cast<int>(subsets_.size())) return {};
    if (ends && iteration == settings_.iterations) return {};
    return subsets_[subset_at(ends ? iteration + 1 : iteration, following)].batches;
  }

  void say_stopped(int iteration, int place, Context& context) {
    context.log().info(fmt::format("stopped in iteration {} of {}, after {} of {} subsets", iteration,
                                   settings_.iterations, place, subsets_.size()));
    context.report("iterations_left_out", settings_.iterations - iteration + 1);
  }

  OfflineSettings settings_;
  std::function<std::shared_ptr<const Quantity>()> quantity_;
  bool is_announced_ = false;
  int expected_ = 0;          // subsets that come; 0: not known
  int numbered_ = 0;          // subsets with those that have no data
  std::vector<int> numbers_;  // of those that come; empty: all
  std::vector<int> pass_;     // of the iteration pass_of_
  int pass_of_ = 0;
  std::vector<StoredSubset<Data>> subsets_;
  std::vector<MessageInfo> came_;  // of each subset
  std::size_t sent_ = 0;           // in the first iteration
  std::int64_t updates_ = 0;
  ResumedUpdates resumed_;
  ConditionsSoFar so_far_;
  ConditionsMisfit misfit_;
  std::size_t added_ = 0;  // subsets, to so_far_
  Conditions whole_;
  bool is_whole_ = false;  // it is known
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
