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
  bool is_new = false;  // it is the first with the last of them, and with all but for a rest
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
  /// What is left at the end of the stream and is too little for an update of its own: a subset by number, which is
  /// used together with the one before it and never alone. That one has come.
  void arrive_rest() {
    arrive();
    has_rest_ = true;
  }
  int arrived() const { return static_cast<int>(made_.size()); }
  bool is_rest(int k) const { return has_rest_ && k + 1 == arrived(); }
  /// Those that a pass over all goes through: a rest counts with the subset before it.
  int in_a_pass() const { return arrived() - (has_rest_ ? 1 : 0); }
  /// The update with subset k of a pass.
  LiveUpdate update_with(int k) const {
    const int count = has_rest_ && k + 1 == in_a_pass() ? 2 : 1;
    return {k, count, updates_of(k + count - 1) == 0};
  }
  /// Updates that subset k has had.
  int updates_of(int k) const { return made_[static_cast<std::size_t>(k)].updates; }
  std::int64_t updates() const { return updates_; }

  /// The first subset that has had no update, or all of these together; nothing where none waits, but for a rest.
  std::optional<LiveUpdate> next_new(bool together) const;
  /// That of the last `window` subsets whose last update is longest ago, where all have had one; nothing once
  /// there have been `iterations` updates for each subset that has come.
  std::optional<LiveUpdate> next_replay() const;
  /// A rest that has had no update, with the subset before it.
  std::optional<LiveUpdate> next_rest() const;
  /// After the scan: round by round in time order, each subset that has had fewer than `iterations` updates, or none
  /// with its rest; nothing when none is left.
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
  bool has_rest_ = false;
};

}  // namespace tofstream
