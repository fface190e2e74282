// The rule of a live reconstruction's order: see live_order.hpp.
#include "gadgets/subset/live_order.hpp"

#include <algorithm>

namespace tofstream {

std::optional<LiveUpdate> LiveOrder::next_new(bool together) const {
  if (first_new_ == arrived()) return std::nullopt;
  return LiveUpdate{first_new_, together ? arrived() - first_new_ : 1, true};
}

std::optional<LiveUpdate> LiveOrder::next_replay() const {
  if (made_.empty() || first_new_ < arrived()) return std::nullopt;
  if (uses_ >= std::int64_t{settings_.iterations} * arrived()) return std::nullopt;
  const auto begin = made_.end() - std::min(settings_.window, arrived());
  const auto oldest = std::ranges::min_element(begin, made_.end(), {}, &Made::last);
  return LiveUpdate{static_cast<int>(oldest - made_.begin()), 1, false};
}

std::optional<LiveUpdate> LiveOrder::next_missing() const {
  for (int step = 1; step <= arrived(); ++step) {
    const int k = (last_in_turn_ + step) % arrived();
    if (updates_of(k) < settings_.iterations) return LiveUpdate{k, 1, updates_of(k) == 0};
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
  last_in_turn_ = update.first + update.count - 1;
}

}  // namespace tofstream
