// The rule of a live reconstruction's order: see live_order.hpp.
#include "gadgets/subset/live_order.hpp"

#include <algorithm>

namespace tofstream {

std::optional<LiveUpdate> LiveOrder::next_new(bool together) const {
  if (first_new_ >= in_a_pass()) return std::nullopt;
  return together ? LiveUpdate{first_new_, arrived() - first_new_, true} : update_with(first_new_);
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
  return LiveUpdate{static_cast<int>(oldest - made_.begin()), 1, false};
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
  for (int k = update.first; k < update.first + update.count; ++k) {
    Made& made = made_[static_cast<std::size_t>(k)];
    ++made.updates;
    made.last = updates_;
  }
  uses_ += update.count;
  while (first_new_ < arrived() && updates_of(first_new_) > 0) ++first_new_;
  last_in_turn_ = std::min(update.first + update.count, in_a_pass()) - 1;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
