// Which subset of list-mode events a live reconstruction updates with next: new subsets first, then the latest ones in
// turn, each as often as an offline reconstruction would use it (share/doc/live.md gives the rule and the reasons).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gadgets/subset/live_update.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/stored_subset.hpp"

namespace tofstream {

struct LiveOrderSettings {
  int iterations = 1;         // updates that each subset should have
  int window = 16;            // how many of the latest subsets take turns
  bool may_have_rest = true;  // which goes, after the scan, with the latest subset
};

/// The Order of subsets in time order: see LiveUpdates. A part of the scan is a subset.
class LiveOrder {
 public:
  /// A message may end one subset and begin the next.
  static constexpr bool cuts_messages = true;
  explicit LiveOrder(LiveOrderSettings settings) : settings_(settings) {}

  template <class Data>
  void arrive(const StoredSubset<Data>& subset) {
    if (subset.is_rest)
      arrive_rest();
    else
      arrive();
  }
  /// One more subset has come.
  void arrive() { made_.push_back({}); }
  /// The rest at the end of the stream, too few data for an update of their own: it counts as a subset, which is used
  /// only together with the one before it. That one must have come.
  void arrive_rest() {
    arrive();
    has_rest_ = true;
  }
  int arrived() const { return static_cast<int>(made_.size()); }
  bool is_rest(int k) const { return has_rest_ && k + 1 == arrived(); }
  /// Subsets in a pass over all; a rest belongs to the subset before it.
  int in_a_pass() const { return arrived() - (has_rest_ ? 1 : 0); }
  /// The subsets of a pass as they follow one another.
  std::vector<int> pass(const PassOrder& order, int iteration) const {
    return pass_order(order, in_a_pass(), iteration);
  }
  /// The update with subset k of a pass.
  LiveUpdate update_with(int k) const {
    const int count = has_rest_ && k + 1 == in_a_pass() ? 2 : 1;
    return one_stretch(k, count, updates_of(k + count - 1) == 0);
  }
  /// Updates that subset k has had.
  int updates_of(int k) const { return made_[static_cast<std::size_t>(k)].updates; }
  int iteration_of(const LiveUpdate& update) const { return updates_of(update.last()) + 1; }
  int subset_of(const LiveUpdate& update) const { return update.first(); }
  /// How many of the latest subsets may be named again, whatever updates they have had: those that take turns, which with
  /// one update each none does, or the one that a rest goes with.
  int held() const { return settings_.iterations > 1 ? settings_.window : settings_.may_have_rest ? 1 : 0; }
  /// Subset k has had so many updates and is not among those, so that only a pass over all can name it again.
  bool has_had_its_turns(int k, int updates) const {
    return k >= 0 && k < in_a_pass() - held() && updates_of(k) >= updates;
  }
  /// The update of a record of an order, whose subsets have come. Throws std::runtime_error for new subsets together
  /// with old ones, which are not put together.
  LiveUpdate recorded(const UpdateRecord& record) const;
  /// Throws std::runtime_error for the record of another kind of data: subsets that are not one stretch of the scan, or
  /// that grew.
  static void require_possible(const UpdateRecord& record);

  /// The first subset without an update, or all of these together; nothing where none waits. A rest does not count.
  std::optional<LiveUpdate> next_new(bool together) const;
  /// The subset, among the last `window`, whose last update is longest ago, where all have had one; nothing once there
  /// have been `iterations` updates for each subset that has come.
  std::optional<LiveUpdate> next_replay() const;
  /// A rest without an update, with the subset before it.
  std::optional<LiveUpdate> next_rest() const;
  /// After the scan: goes round in time order through each subset that has had fewer than `iterations` updates, or none
  /// together with its rest; nothing when none is left.
  std::optional<LiveUpdate> next_missing() const;

  /// Notes that an update, chosen here or by a record of the order, has been made.
  void note(const LiveUpdate& update);

 private:
  struct Made {
    int updates = 0;
    std::int64_t last = 0;  // number of its last update
  };

  LiveOrderSettings settings_;
  std::vector<Made> made_;  // a subset
  std::int64_t updates_ = 0;
  std::int64_t uses_ = 0;  // of subsets by updates
  int first_new_ = 0;
  int last_in_turn_ = -1;  // of next_missing
  bool has_rest_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
