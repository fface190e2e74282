// Which views a live reconstruction of histo-images updates with next. Histo-images grow as long as the scan lasts, so
// no update is the last one with a view: groups of views take turns, those with new events first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tofstream {

class HistoOrder {
 public:
  /// `groups`: the views of each, in the order of a pass over them. `iterations`: updates with a group as it stands.
  HistoOrder(std::vector<std::vector<int>> groups, int iterations)
      : groups_(std::move(groups)), iterations_(iterations), updates_(groups_.size(), 0) {
    std::size_t views = 0;
    for (const auto& group : groups_) views += group.size();
    events_.assign(views, 0);
    used_.assign(views, 0);
  }

  int groups() const { return static_cast<int>(groups_.size()); }
  const std::vector<int>& views_of(int group) const { return groups_[static_cast<std::size_t>(group)]; }
  std::optional<int> group_of(std::span<const int> views) const {
    for (int group = 0; group < groups(); ++group)
      if (std::ranges::equal(views_of(group), views)) return group;
    return std::nullopt;
  }

  /// `events`: of each view, so far.
  void grow(const std::vector<std::uint64_t>& events) { events_ = events; }
  std::uint64_t events_of_view(int view) const { return events_[static_cast<std::size_t>(view)]; }
  std::uint64_t new_events_of_view(int view) const {
    return events_of_view(view) - used_[static_cast<std::size_t>(view)];
  }
  std::uint64_t events_of(int group) const { return sum_of(group, &HistoOrder::events_of_view); }
  std::uint64_t new_events_of(int group) const { return sum_of(group, &HistoOrder::new_events_of_view); }

  /// The next group in turn that has new events.
  std::optional<int> next_new() const {
    return next_where([this](int group) { return new_events_of(group) > 0; });
  }
  /// Where none has: the next in turn that had fewer than `iterations` updates as it stands. A group without events is
  /// left out.
  std::optional<int> next() const {
    if (const auto group = next_new()) return group;
    return next_where(
        [this](int group) { return events_of(group) > 0 && updates_[static_cast<std::size_t>(group)] < iterations_; });
  }
  /// Which update with the group as it stands the next one is, from 1.
  int next_round(int group) const {
    return new_events_of(group) > 0 ? 1 : updates_[static_cast<std::size_t>(group)] + 1;
  }
  /// An update with the group as it stands has been made.
  void note(int group) {
    updates_[static_cast<std::size_t>(group)] = next_round(group);
    for (const int view : views_of(group)) used_[static_cast<std::size_t>(view)] = events_of_view(view);
    last_ = group;
  }

 private:
  std::uint64_t sum_of(int group, std::uint64_t (HistoOrder::*of_view)(int) const) const {
    std::uint64_t sum = 0;
    for (const int view : views_of(group)) sum += (this->*of_view)(view);
    return sum;
  }
  template <class Is>
  std::optional<int> next_where(const Is& is) const {
    for (int step = 1; step <= groups(); ++step)
      if (const int group = (last_ + step) % groups(); is(group)) return group;
    return std::nullopt;
  }

  std::vector<std::vector<int>> groups_;
  int iterations_;
  std::vector<int> updates_;                  // of each group as it stands
  std::vector<std::uint64_t> events_, used_;  // of each view: so far, and at its last update
  int last_ = -1;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
