// The rule of a live reconstruction's order: see live_order.hpp.
#include "gadgets/subset/live_order.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

void LiveOrder::require_possible(const UpdateRecord& record) {
  if (record.restart || (record.parts.size() == 1 && !record.as_of)) return;
  throw std::runtime_error(fmt::format(
      "update {} of the order is of {}: follow it with data of the kind that it was written for", record.update,
      record.as_of ? "data that grew during the scan" : "parts that do not follow one another"));
}

LiveUpdate LiveOrder::recorded(const UpdateRecord& record) const {
  const LiveUpdate update{record.parts, updates_of(record.parts.back().first + record.parts.back().count - 1) == 0};
  const int last = update.last();
  const int alike = is_rest(last) ? last - 1 : last;
  for (int k = update.first(); k < alike; ++k)
    if ((updates_of(k) == 0) != (updates_of(alike) == 0))
      throw std::runtime_error("the order to follow puts new subsets together with old ones: it was not written so");
  return update;
}

std::optional<LiveUpdate> LiveOrder::next_new(bool together) const {
  if (first_new_ >= in_a_pass()) return std::nullopt;
  return together ? one_stretch(first_new_, arrived() - first_new_, true) : update_with(first_new_);
}

std::optional<LiveUpdate> LiveOrder::next_rest() const {
  if (!has_rest_ || updates_of(arrived() - 1) > 0) return std::nullopt;
  return update_with(in_a_pass() - 1);
}

std::optional<LiveUpdate> LiveOrder::next_replay() const {
  if (made_.empty() || first_new_ < arrived()) return std::nullopt;
  if (uses_ >= std::int64_t{settings_.iterations} * arrived()) return std::nullopt;
  const auto begin = made_.end() - std::min(settings_.window, arrived());
  const auto oldest = std::ranges::min_element(begin, made_.end(), {}, &Made::last);
  return one_stretch(static_cast<int>(oldest - made_.begin()), 1, false);
}

std::optional<LiveUpdate> LiveOrder::next_missing() const {
  for (int step = 1; step <= in_a_pass(); ++step) {
    const int k = (last_in_turn_ + step) % in_a_pass();
    const LiveUpdate update = update_with(k);
    if (update.is_new || updates_of(k) < settings_.iterations) return update;
  }
  return std::nullopt;
}

void LiveOrder::note(const LiveUpdate& update) {
  ++updates_;
  for_each_part(update, [&](int k) {
    Made& made = made_[static_cast<std::size_t>(k)];
    ++made.updates;
    made.last = updates_;
    ++uses_;
  });
  while (first_new_ < arrived() && updates_of(first_new_) > 0) ++first_new_;
  last_in_turn_ = std::min(update.last(), in_a_pass() - 1);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
