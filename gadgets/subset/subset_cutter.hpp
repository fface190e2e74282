// Cuts a stream of sorted batches into subsets that follow one another in time, by events or by scan time, as they
// come. Where a subset ends depends on the batches alone, not on when they came.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gadgets/subset/emptied_time.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/stored_subset.hpp"
#include "gadgets/subset/subset_quantity.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

using StoredEvents = StoredSubset<EventBatch>;

/// Puts a subset's batches into the store. Throws what the store throws.
StoredEvents stored_subset(std::vector<EventBatch> batches, EventStore& store);

/// A batch without events, by which what follows learns of the scanner and that its conditions differ.
EventBatch announced_by(const EventBatch& batch);

/// Throws std::runtime_error where prompts and delayeds come together; `delayed` remembers which of them came first.
void require_one_kind(const EventBatch& batch, std::optional<bool>& delayed);

struct CutSettings {
  std::int64_t events = 0;  // one of the two is positive
  double seconds = 0;
  // A subset by seconds is extended by the same time again until it has so many events: an update without any event
  // would make the multiplicative estimate 0 for good.
  std::int64_t least_events = 0;
  double reference_s = 1;  // scan time that the image counts decays of
};

inline constexpr auto* least_events_words =
    "A subset grows until it has at least this many; what is left at the end of the stream joins the last one";

class SubsetCutter {
 public:
  explicit SubsetCutter(const CutSettings& settings) : settings_(settings), due_s_(settings.seconds) {}

  /// Takes the next batch and returns the subsets that it completes.
  std::vector<StoredEvents> take(EventBatch batch, EventStore& store);
  /// What is left at the end of the stream. It is a rest if it has fewer events than a subset's least, unless no other
  /// subset came.
  std::optional<StoredEvents> finish(EventStore& store);
  /// What an image of the events so far shows.
  std::shared_ptr<const Quantity> quantity() { return quantity_.get(is_timed_ ? settings_.reference_s : 0); }

 private:
  bool has_reached_end() const;
  std::vector<EventBatch> cut_where_subsets_end(EventBatch batch) const;
  StoredEvents close(EventStore& store);

  CutSettings settings_;
  std::vector<EventBatch> open_;
  std::int64_t open_events_ = 0;
  double open_seconds_ = 0;
  double due_s_;  // when the open subset ends, if it has its least events by then
  bool has_closed_one_ = false;
  bool is_timed_ = true;  // each subset so far has a scan time
  SubsetQuantity quantity_;
  EmptiedTime emptied_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
