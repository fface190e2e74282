// Which subset a live reconstruction updates with next: new subsets first, then the latest ones in turn, each as often
// as an offline reconstruction would use it (share/doc/live.md gives the rule and the reasons).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tofstream {

/// One update: with subsets [first, first + count) together.
struct LiveUpdate {
  int first = 0;
  int count = 1;
  bool is_new = false;  // no update before used the last of these subsets
  friend bool operator==(const LiveUpdate&, const LiveUpdate&) = default;
};

struct LiveOrderSettings {
  int iterations = 1;  // updates that each subset should have
  int window = 16;     // how many of the latest subsets take turns
};

class LiveOrder {
 public:
  explicit LiveOrder(LiveOrderSettings settings) : settings_(settings) {}

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
  /// The update with subset k of a pass.
  LiveUpdate update_with(int k) const {
    const int count = has_rest_ && k + 1 == in_a_pass() ? 2 : 1;
    return {k, count, updates_of(k + count - 1) == 0};
  }
  /// Updates that subset k has had.
  int updates_of(int k) const { return made_[static_cast<std::size_t>(k)].updates; }
  std::int64_t updates() const { return updates_; }

  /// The first subset without an update, or all of these together; nothing where none waits. A rest does not count.
  std::optional<LiveUpdate> next_new(bool together) const;
  /// Of the last `window` subsets the one whose last update is longest ago, where all have had one; nothing once there
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
