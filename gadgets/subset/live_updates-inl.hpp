// The definitions of live_updates.hpp, to include where live updates are made for a kind of data.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/subset/live_updates.hpp"

namespace tofstream {
namespace detail {

// The last part of the scan that a record names; -1 of a restart.
inline int last_of(const UpdateRecord& record) {
  return record.restart ? -1 : record.parts.back().first + record.parts.back().count - 1;
}
}  // namespace detail

template <class Data, class Order>
LiveUpdates<Data, Order>::LiveUpdates(LiveSettings settings, Order order,
                                      std::function<std::shared_ptr<const Quantity>()> quantity, Context& context,
                                      std::function<Batches(Batches)> join)
    : p_(std::move(settings)),
      quantity_(std::move(quantity)),
      join_(std::move(join)),
      order_(std::move(order)),
      recorded_(p_.follow, p_.resume_from, &Order::require_possible),
      deadline_(p_.deadline_ms, p_.degrade),
      file_(p_.order, context) {}

template <class Data, class Order>
void LiveUpdates<Data, Order>::announce(Data like) {
  if (!std::exchange(is_announced_, true)) announcement_ = std::move(like);
}

template <class Data, class Order>
void LiveUpdates<Data, Order>::arrive(StoredSubset<Data> subset, Context& context) {
  order_.arrive(subset);
  subsets_.push_back(std::move(subset));
  let_go_if_done(order_.in_a_pass() - 1 - order_.held());
  note_data(context.message());
  context.report("subsets", static_cast<std::int64_t>(order_.in_a_pass()));
}

// Which events the subset that has come is of, and when they came.
template <class Data, class Order>
void LiveUpdates<Data, Order>::note_data(MessageInfo message) {
  if (message.last_ingress == Clock::time_point{}) message.ingress = message.last_ingress = Clock::now();
  came_.push_back(Order::cuts_messages ? cut_.ended_by(message) : message);
}

template <class Data, class Order>
bool LiveUpdates<Data, Order>::idle(Emit<Subset<Data>>& emit, Context& context) {
  note_latency(context);
  if (send_announcement(emit, context)) return true;
  if (!recorded_.is_over()) return follow(emit, context);
  if (recorded_.is_whole()) return false;
  auto update = order_.next_new(deadline_.is_given_up(Degrade::larger_subsets));
  if (!update && !deadline_.is_given_up(Degrade::no_idle_iterations)) update = order_.next_replay();
  if (update) send(*update, emit, context);
  return update.has_value();
}

template <class Data, class Order>
void LiveUpdates<Data, Order>::flush(Emit<Subset<Data>>& emit, Context& context) {
  send_announcement(emit, context);
  while (follow(emit, context)) {
  }
  if (!recorded_.is_over() && !context.stopping())
    throw std::runtime_error(
        fmt::format("the order to follow names subset {}, but {} came: it belongs to another recording",
                    detail::last_of(recorded_.next()), order_.arrived()));
  if (recorded_.is_whole()) {
    reject_what_is_left(context);
  } else {
    while (const auto update = order_.next_new(deadline_.is_given_up(Degrade::larger_subsets)))
      send(*update, emit, context);
    finish(emit, context);
  }
  file_.end(context);
  report(context);
}

template <class Data, class Order>
bool LiveUpdates<Data, Order>::send_announcement(Emit<Subset<Data>>& emit, Context& context) {
  if (!announcement_) return false;
  context.made_from(of_no_event(context.message()));
  Subset<Data> announcement = announcement_of(*std::exchange(announcement_, std::nullopt));
  announcement.conditions = so_far_.get();
  emit(std::move(announcement));
  return true;
}

// Sends the next update of the order that is followed, if its subsets have come. False where nothing went out.
template <class Data, class Order>
bool LiveUpdates<Data, Order>::follow(Emit<Subset<Data>>& emit, Context& context) {
  while (!recorded_.is_over()) {
    const UpdateRecord record = recorded_.next();
    if (detail::last_of(record) >= order_.arrived()) return false;
    if (!record.restart && record.events != events_of(record))
      throw std::runtime_error(
          fmt::format("update {} of the order to follow has {} events, but its subset has {} here: it belongs to "
                      "another recording, or the subsets are cut differently",
                      record.update, record.events, events_of(record)));
    const bool is_done = recorded_.next_is_in_checkpoint();
    if (is_done) pass(record, context);
    recorded_.advance();
    if (is_done) continue;
    if (record.restart)
      restart(emit, context);
    else
      send(order_.recorded(record), emit, context);
    return true;
  }
  return false;
}

// Counts an update that the checkpoint's image has already.
template <class Data, class Order>
void LiveUpdates<Data, Order>::pass(const UpdateRecord& record, Context& context) {
  ++updates_;
  if (record.restart) {
    offline_ = 0;
    return;
  }
  const LiveUpdate update = order_.recorded(record);
  recorded_.books().book(new_events_of(update), context);
  if (offline_) ++*offline_;
  note_conditions(update);
  order_.note(update);
}

// After an order that was written to its end no update follows: the events that are left are rejected.
template <class Data, class Order>
void LiveUpdates<Data, Order>::reject_what_is_left(Context& context) {
  std::optional<LiveUpdate> update;
  while ((update = order_.next_new(true)) || (update = order_.next_rest())) {
    context.books().rejected(new_events_of(*update), "after the end of the order that is followed");
    order_.note(*update);
  }
}

template <class Data, class Order>
void LiveUpdates<Data, Order>::finish(Emit<Subset<Data>>& emit, Context& context) {
  std::optional<LiveUpdate> update;
  if (p_.final == Final::converged)
    while (!context.stopping() && (update = order_.next_missing())) send(*update, emit, context);
  if (const auto rest = order_.next_rest()) send(*rest, emit, context);
  if (p_.final == Final::none || subsets_.empty()) return;
  if (p_.final == Final::offline && !context.stopping()) {
    if (!offline_) restart(emit, context);
    warn_of_order(p_.final_order, order_.in_a_pass(), context);
    const auto all = static_cast<std::int64_t>(p_.iterations) * order_.in_a_pass();
    while (*offline_ < all && !context.stopping()) {
      const auto iteration = static_cast<int>(*offline_ / order_.in_a_pass()) + 1;
      const auto place = static_cast<std::size_t>(*offline_ % order_.in_a_pass());
      send(order_.update_with(order_.pass(p_.final_order, iteration)[place]), emit, context);
    }
  }
  if (!context.stopping()) return;
  context.log().info("stopped: the estimate is written as it is, without what `final` asks for");
  context.report("final_left_out", true);
}

template <class Data, class Order>
void LiveUpdates<Data, Order>::restart(Emit<Subset<Data>>& emit, Context& context) {
  offline_ = 0;
  file_.write({.update = ++updates_, .restart = true}, recorded_.passed(), context);
  context.made_from(of_no_event(newest_));
  emit(restart_of<Data>(updates_));
}

// The data of an update: first what was part of an update before, then what was not.
template <class Data, class Order>
void LiveUpdates<Data, Order>::gather(const LiveUpdate& update, Subset<Data>& subset) const {
  Batches known, unknown;
  subset.time_fraction = 0;
  for_each_part(update, [&](int k) {
    const StoredSubset<Data>& part = kept(k);
    Batches& to = update.is_new && order_.updates_of(k) == 0 ? unknown : known;
    to.insert(to.end(), part.batches.begin(), part.batches.end());
    subset.time_fraction += part.time_fraction;
  });
  if (join_) {
    known = join_(std::move(known));
    unknown = join_(std::move(unknown));
  }
  if (update.is_new) subset.known_batches = known.size();
  subset.batches = std::move(known);
  subset.batches.insert(subset.batches.end(), unknown.begin(), unknown.end());
}

template <class Data, class Order>
void LiveUpdates<Data, Order>::send(const LiveUpdate& update, Emit<Subset<Data>>& emit, Context& context) {
  Subset<Data> subset;
  subset.step = step_of(update);
  gather(update, subset);
  subset.quantity = quantity_();
  note_conditions(update);
  subset.conditions = so_far_.get();
  file_.write({updates_, update.parts, events_of(update)}, recorded_.passed(), context);
  order_.note(update);
  if (offline_) ++*offline_;
  const MessageInfo& last = came_[static_cast<std::size_t>(update.last())];
  if (update.is_new) {
    newest_ = last;
    sent_ = last.last_ingress;
  }
  MessageInfo data =
      newest_;  // an update with old data is no answer to any event: its times are the newest that are in
  data.first_event = came_[static_cast<std::size_t>(update.first())].first_event;
  data.end_event = last.end_event;
  context.made_from(data);
  subset.is_last_time = true;
  for_each_part(update, [&](int k) { subset.is_last_time = let_go_if_done(k) && subset.is_last_time; });
  context.report("updates", updates_);
  emit(std::move(subset));
}

// Which subsets the mean is of depends on the order of updates alone, so that a replay has the same sensitivities.
template <class Data, class Order>
void LiveUpdates<Data, Order>::note_conditions(const LiveUpdate& update) {
  for (; added_ <= update.last(); ++added_) so_far_.add(kept(added_).conditions, kept(added_).exposed_s);
  misfit_.note(kept(update.last()).conditions, so_far_.get());
}

// Frees the data of a subset that has had its turns and its updates, so that no rule can name it again. This bounds the
// memory of a long scan if the projector keeps pace, unless all data are needed at the end. Returns whether they went.
template <class Data, class Order>
bool LiveUpdates<Data, Order>::let_go_if_done(int k) {
  if (p_.final == Final::offline || !recorded_.is_over()) return false;
  const bool is_done = order_.has_had_its_turns(k, p_.final == Final::none ? 1 : p_.iterations);
  if (is_done) kept(k).batches.clear();
  return is_done;
}

template <class Data, class Order>
UpdateStep LiveUpdates<Data, Order>::step_of(const LiveUpdate& update) {
  UpdateStep step{.iteration = order_.iteration_of(update),
                  .iterations = 0,
                  .subset = order_.subset_of(update),
                  .subsets = 0,
                  .update = ++updates_,
                  .replayed = !update.is_new,
                  .number = order_.subset_of(update)};
  if (!offline_) return step;
  const int all = order_.in_a_pass();
  step.subset = static_cast<int>(*offline_ % all);
  step.iteration = static_cast<int>(*offline_ / all) + 1;
  step.iterations = p_.iterations;
  step.subsets = all;
  step.ends_iteration = *offline_ % all + 1 == all;
  step.last = step.ends_iteration && step.iteration == p_.iterations;
  return step;
}

template <class Data, class Order>
template <class Update>
std::uint64_t LiveUpdates<Data, Order>::events_of(const Update& update) const {
  std::uint64_t sum = 0;
  for_each_part(update, [&](int k) { sum += kept(k).event_count(); });
  return sum;
}

// The events of an update that no update had before.
template <class Data, class Order>
std::uint64_t LiveUpdates<Data, Order>::new_events_of(const LiveUpdate& update) const {
  std::uint64_t sum = 0;
  for_each_part(update, [&](int k) {
    if (order_.updates_of(k) == 0) sum += kept(k).event_count();
  });
  return sum;
}

// Data that came before the projector was ready waited for the sensitivity, which is computed once the scanner is
// known; their latency says nothing about later ones.
template <class Data, class Order>
void LiveUpdates<Data, Order>::note_latency(Context& context) {
  const auto now = Clock::now();
  const bool knows_scanner = is_announced_ && !announcement_;
  if (!ready_ && (knows_scanner || sent_)) ready_ = now;
  if (!sent_) return;
  const auto came = *std::exchange(sent_, std::nullopt);
  if (came < *ready_) return;
  const auto latency = now - came;
  latency_.add(latency);
  const auto change = deadline_.note(std::chrono::duration<double, std::milli>(latency).count());
  if (!change) return;
  context.log().warning(*change);
  degradations_.push_back(fmt::format("update {}: {}", updates_, *change));
  context.report("degradations", degradations_);
}

template <class Data, class Order>
void LiveUpdates<Data, Order>::report(Context& context) const {
  context.report("updates", updates_);
  misfit_.report(context);
  if (latency_.count() > 0) {
    context.report("latency_ms_p50", 1e3 * latency_.quantile_seconds(0.5));
    context.report("latency_ms_p99", 1e3 * latency_.quantile_seconds(0.99));
    context.report("latency_ms_max", 1e3 * latency_.max_seconds());
  }
  if (p_.deadline_ms > 0) context.report("deadline_missed", static_cast<std::int64_t>(deadline_.missed()));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
