// Subsets in order of time: see subset_cutter.hpp.
#include "gadgets/subset/subset_cutter.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/sort/partition.hpp"

namespace tofstream {

StoredEvents stored_subset(std::vector<EventBatch> batches, EventStore& store) {
  StoredEvents stored;
  MeanConditions conditions;
  for (const EventBatch& batch : batches) {
    stored.seconds += batch.duration_s;
    stored.exposed_s += batch.duration_s * batch.exposure;
    conditions.add(batch);
  }
  stored.conditions = conditions.get();
  stored.batches = store.store(std::move(batches));
  return stored;
}

EventBatch announced_by(const EventBatch& batch) {
  return {.scanner = batch.scanner, .live = batch.live, .pose = batch.pose};
}

void require_one_kind(const EventBatch& batch, std::optional<bool>& delayed) {
  if (delayed.value_or(batch.delayed) != batch.delayed)
    throw std::runtime_error(
        "prompts and delayed coincidences came together: put event_corrections before, which removes the delayeds, "
        "or let the decoder give only prompts");
  delayed = batch.delayed;
}

std::vector<StoredEvents> SubsetCutter::take(EventBatch batch, EventStore& store) {
  quantity_.add(batch.quantity);
  if (batch.count == 0) {
    emptied_.add(batch);
    return {};
  }
  emptied_.give_to(batch);
  std::vector<StoredEvents> closed;
  std::vector<EventBatch> pieces = cut_where_subsets_end(std::move(batch));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    open_events_ += pieces[i].count;
    open_seconds_ += pieces[i].duration_s;
    pieces[i].arrival = {};  // by which nothing cuts it any more
    if (pieces[i].count > 0) open_.push_back(store.bring(std::move(pieces[i])));
    // Cut to whole events, a piece may be shorter than its subset wants by half an event's time.
    if (i + 1 == pieces.size() && !has_reached_end()) continue;
    if (open_events_ >= std::max<std::int64_t>(settings_.least_events, 1))
      closed.push_back(close(store));
    else
      due_s_ += settings_.seconds;
  }
  return closed;
}

std::optional<StoredEvents> SubsetCutter::finish(EventStore& store) {
  if (open_.empty()) return std::nullopt;
  emptied_.give_to(open_.back());
  const bool is_rest = has_closed_one_ && open_events_ < settings_.least_events;
  StoredEvents last = close(store);
  last.is_rest = is_rest;
  return last;
}

bool SubsetCutter::has_reached_end() const {
  constexpr double rounding_s = 1e-9;
  return settings_.events > 0 ? open_events_ >= settings_.events : open_seconds_ >= due_s_ - rounding_s;
}

// Cuts a batch that reaches past the end of the open subset at the events where subsets end.
std::vector<EventBatch> SubsetCutter::cut_where_subsets_end(EventBatch batch) const {
  std::vector<std::int64_t> ends;
  const auto share = [&](double at_s) {  // events before a moment, if spread evenly over the batch's time
    return std::llround(static_cast<double>(batch.count) * at_s / batch.duration_s);
  };
  if (settings_.events > 0) {
    for (std::int64_t end = settings_.events - open_events_; end < batch.count; end += settings_.events)
      ends.push_back(end);
  } else if (batch.duration_s > 0) {
    for (double end = due_s_ - open_seconds_; end < batch.duration_s * (1 - 1e-9); end += settings_.seconds)
      ends.push_back(std::clamp<std::int64_t>(share(end), 0, batch.count));
  }
  return split_by_arrival(std::move(batch), ends, copy_stream());
}

StoredEvents SubsetCutter::close(EventStore& store) {
  StoredEvents stored = stored_subset(std::exchange(open_, {}), store);
  is_timed_ = is_timed_ && stored.seconds > 0;
  stored.time_fraction = (stored.seconds > 0 ? stored.exposed_s : 1) / settings_.reference_s;
  open_events_ = 0;
  open_seconds_ = 0;
  due_s_ = settings_.seconds;
  has_closed_one_ = true;
  return stored;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
