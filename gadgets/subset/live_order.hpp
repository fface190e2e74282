// Which subset a live reconstruction updates with next: those that have just come first, then in turn among the latest
// ones, as many times as the offline reconstruction would (share/doc/live.md gives the rule and why).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tofstream {

/// One update: with subsets [first, first + count) together.
struct LiveUpdate {
  int first = 0;
  int count = 1;
  bool is_new = false;  // it is the first with each of them
  friend bool operator==(const LiveUpdate&, const LiveUpdate&) = default;
};

struct LiveOrderSettings {
  int iterations = 1;  // updates that each subset is to have
  int window = 16;     // subsets, the latest, that take turns
};

class LiveOrder {
 public:
  explicit LiveOrder(LiveOrderSettings settings) : settings_(settings) {}

  /// One more subset has come.
  void arrive() { made_.push_back({}); }
  int arrived() const { return static_cast<int>(made_.size()); }
  /// Updates that subset k has had.
  int updates_of(int k) const { return made_[static_cast<std::size_t>(k)].updates; }
  std::int64_t updates() const { return updates_; }

  /// The first subset that has had no update, or all of these together; nothing where none waits.
  std::optional<LiveUpdate> next_new(bool together) const;
  /// Of the last `window` subsets, all of which have had an update, that whose last one is longest ago; nothing once
  /// there have been `iterations` updates for each subset that has come.
  std::optional<LiveUpdate> next_replay() const;
  /// After the scan: round by round in time order, each subset that has had fewer than `iterations` updates; nothing
  /// when none is left.
  std::optional<LiveUpdate> next_missing() const;

  /// What has been chosen, here or by a record of the order, is done.
  void note(const LiveUpdate& update);

 private:
  struct Made {
    int updates = 0;
    std::int64_t last = 0;  // number of the last
  };

  LiveOrderSettings settings_;
  std::vector<Made> made_;  // a subset
  std::int64_t updates_ = 0;
  std::int64_t uses_ = 0;  // of subsets by updates
  int first_new_ = 0;
  int last_in_turn_ = -1;  // of next_missing
};

}  // namespace tofstream
