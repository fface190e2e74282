// Which views a live reconstruction updates with next: the group of the newest view as soon as it has come, then the
// groups in turn (share/doc/spect.md gives the rule and the reasons).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gadgets/subset/live_update.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/stored_subset.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

struct ViewOrderSettings {
  int subsets = 8;      // of the whole scan
  int least_views = 6;  // of a group while the scan runs: fewer groups then, which are larger
  int iterations = 1;   // updates that each view should have
};

/// The Order of a camera's views: see LiveUpdates. A part of the scan is a view, in the order of their coming; an update
/// is with all views of a group that have come. While the scan runs there are as many groups as leave `least_views` in
/// each, a divisor of `subsets`, so that each of them is a whole number of the scan's groups together.
class ViewOrder {
 public:
  /// A view comes whole.
  static constexpr bool cuts_messages = false;
  explicit ViewOrder(ViewOrderSettings settings) : settings_(settings) {}

  /// `view`: one view in one batch.
  void arrive(const StoredSubset<ViewBatch>& view);
  int arrived() const { return static_cast<int>(views_.size()); }
  /// Updates of a pass over all views, once the scan has ended: the groups that have views.
  int in_a_pass() const { return static_cast<int>(pass(while_live, 1).size()); }
  /// The groups of a pass that have views, as they follow one another; those of view_subsets in the same order.
  std::vector<int> pass(const PassOrder& order, int iteration) const;
  LiveUpdate update_with(int group) const { return with_group(group, settings_.subsets); }
  int updates_of(int k) const { return views_[static_cast<std::size_t>(k)].updates; }
  int iteration_of(const LiveUpdate& update) const;
  int subset_of(const LiveUpdate& update) const { return view(update.first()).group; }
  /// Views are small and stay.
  int held() const { return 0; }
  bool has_had_its_turns(int, int) const { return false; }
  /// The update of a record of an order, whose views have come.
  LiveUpdate recorded(const UpdateRecord& record) const;
  /// Throws std::runtime_error for the record of data that grew.
  static void require_possible(const UpdateRecord& record);

  /// The group of the oldest view without an update; `together`: all views that have come, if some have none.
  std::optional<LiveUpdate> next_new(bool together) const;
  /// The group whose last update is longest ago, if no view is new; nothing once there have been `iterations` updates
  /// of each view that has come.
  std::optional<LiveUpdate> next_replay() const;
  /// Views have no rest.
  std::optional<LiveUpdate> next_rest() const { return std::nullopt; }
  /// After the scan: the groups of a pass in turn, while one has a view with fewer than `iterations` updates.
  std::optional<LiveUpdate> next_missing() const;
  /// Notes that an update, chosen here or by a record of the order, has been made.
  void note(const LiveUpdate& update);

 private:
  static constexpr PassOrder while_live{PassRule::farthest};

  struct Seen {
    int group = 0;  // of `subsets`
    int updates = 0;
    std::int64_t last = 0;  // number of its last update
  };

  const Seen& view(int k) const { return views_[static_cast<std::size_t>(k)]; }
  int live_groups() const;
  LiveUpdate with_group(int group, int groups) const;

  ViewOrderSettings settings_;
  std::vector<int> groups_;  // of each view of the set
  std::vector<Seen> views_;  // as they came
  std::int64_t updates_ = 0;
  std::int64_t uses_ = 0;  // of views by updates
  int first_new_ = 0;
  int last_group_ = -1;  // of next_missing, in a pass
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
