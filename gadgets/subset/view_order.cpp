// The rule of a live reconstruction of views: see view_order.hpp.
#include "gadgets/subset/view_order.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/subset/view_groups.hpp"

namespace tofstream {

void ViewOrder::require_possible(const UpdateRecord& record) {
  if (!record.as_of) return;
  throw std::runtime_error(fmt::format(
      "update {} of the order is of data that grew during the scan: follow it with data of the kind that it was "
      "written for",
      record.update));
}

void ViewOrder::arrive(const StoredSubset<ViewBatch>& view) {
  const ViewBatch& batch = *view.batches.front();
  if (groups_.empty()) groups_ = view_groups(*batch.set, settings_.subsets);
  views_.push_back({.group = groups_[static_cast<std::size_t>(batch.records.front().view)]});
}

int ViewOrder::live_groups() const {
  int groups = settings_.subsets;
  while (groups > 1 && (settings_.subsets % groups != 0 || arrived() < groups * settings_.least_views)) --groups;
  return groups;
}

LiveUpdate ViewOrder::with_group(int group, int groups) const {
  std::vector<int> members;
  bool is_new = false;
  for (int k = 0; k < arrived(); ++k) {
    if (view(k).group % groups != group % groups) continue;
    members.push_back(k);
    is_new = is_new || view(k).updates == 0;
  }
  return {parts_of(members), is_new};
}

LiveUpdate ViewOrder::recorded(const UpdateRecord& record) const {
  LiveUpdate update{record.parts};
  for_each_part(update, [&](int k) { update.is_new = update.is_new || updates_of(k) == 0; });
  return update;
}

int ViewOrder::iteration_of(const LiveUpdate& update) const {
  int least = std::numeric_limits<int>::max();
  for_each_part(update, [&](int k) { least = std::min(least, updates_of(k)); });
  return least + 1;
}

std::vector<int> ViewOrder::pass(const PassOrder& order, int iteration) const {
  std::vector<int> groups;
  if (views_.empty()) return groups;
  for (const int group : pass_order(order, settings_.subsets, iteration))
    if (std::ranges::any_of(views_, [&](const Seen& seen) { return seen.group == group; })) groups.push_back(group);
  return groups;
}

std::optional<LiveUpdate> ViewOrder::next_new(bool together) const {
  if (first_new_ >= arrived()) return std::nullopt;
  return together ? with_group(0, 1) : with_group(view(first_new_).group, live_groups());
}

std::optional<LiveUpdate> ViewOrder::next_replay() const {
  if (views_.empty() || first_new_ < arrived()) return std::nullopt;
  if (uses_ >= std::int64_t{settings_.iterations} * arrived()) return std::nullopt;
  const auto oldest = std::ranges::min_element(views_, {}, &Seen::last);
  return with_group(oldest->group, live_groups());
}

std::optional<LiveUpdate> ViewOrder::next_missing() const {
  const std::vector<int> groups = pass(while_live, 1);
  const int count = static_cast<int>(groups.size());
  const auto last = static_cast<int>(std::ranges::find(groups, last_group_) - groups.begin());
  for (int step = 1; step <= count; ++step) {
    const int at = last == count ? step - 1 : (last + step) % count;
    LiveUpdate update = with_group(groups[static_cast<std::size_t>(at)], settings_.subsets);
    if (iteration_of(update) <= settings_.iterations) return update;
  }
  return std::nullopt;
}

void ViewOrder::note(const LiveUpdate& update) {
  ++updates_;
  for_each_part(update, [&](int k) {
    Seen& seen = views_[static_cast<std::size_t>(k)];
    ++seen.updates;
    seen.last = updates_;
    ++uses_;
  });
  while (first_new_ < arrived() && updates_of(first_new_) > 0) ++first_new_;
  last_group_ = view(update.first()).group;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
