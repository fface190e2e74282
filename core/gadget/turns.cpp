#include "core/gadget/turns.hpp"

#include <algorithm>
#include <utility>

namespace tofstream {
namespace {

// A member that is away between two turns for no longer than this counts as one that takes turns without a pause: twice
// as long as its own turns last, within these limits. The processor loses at most that by waiting for it.
constexpr double turns_of_grace = 2, shortest_grace_s = 0.02, longest_grace_s = 1;
constexpr double weight_of_last = 0.25;  // in the means

void add_to_mean(double& mean, double value, bool is_first) {
  mean = is_first ? value : mean + weight_of_last * (value - mean);
}

}  // namespace

bool TurnOrder::State::comes_back_at_once() const {
  return turns > 1 && mean_gap <= std::clamp(turns_of_grace * mean_turn, shortest_grace_s, longest_grace_s);
}

TurnOrder::Member TurnOrder::join() {
  State state;
  for (bool is_first = true; const auto& [member, other] : members_)
    state.used = std::exchange(is_first, false) ? other.used : std::min(state.used, other.used);
  members_.emplace(next_, state);
  return next_++;
}

void TurnOrder::leave(Member member) {
  members_.erase(member);
}

void TurnOrder::ask(Member member, double now) {
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  State& state = found->second;
  if (state.is_away()) {
    state.asked = now;
    const double gap = now - state.ended;
    if (gap > longest_grace_s)
      state.used = std::max(state.used, level_);  // time that nobody asked for is not saved up
    else if (state.turns > 0)
      add_to_mean(state.mean_gap, gap, state.turns == 1);
  }
  ++state.waiting;
}

void TurnOrder::withdraw(Member member, double now) {
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  --found->second.waiting;
  if (found->second.is_away()) found->second.ended = now;
}

TurnOrder::Next TurnOrder::next(double now) const {
  const std::pair<const Member, State>* best = nullptr;
  for (const auto& each : members_) {
    const State& state = each.second;
    if (state.has_turn) return {};
    if (state.waiting == 0) continue;
    if (!best || std::pair(state.used, state.asked) < std::pair(best->second.used, best->second.asked)) best = &each;
  }
  if (!best) return {};
  Next next{best->first, std::nullopt};
  for (const auto& [member, state] : members_) {
    if (!state.is_away() || !state.comes_back_at_once() || best->second.used - state.used <= state.mean_turn) continue;
    const double until = state.ended + 2 * state.mean_gap;
    if (now < until) next = {std::nullopt, std::max(until, next.look_again.value_or(until))};
  }
  return next;
}

void TurnOrder::begin(Member member, double now) {
  State& state = members_.at(member);
  --state.waiting;
  state.has_turn = true;
  state.began = now;
  level_ = state.used;
}

void TurnOrder::end(Member member, double now) {
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  State& state = found->second;
  const double lasted = now - state.began;
  add_to_mean(state.mean_turn, lasted, state.turns == 0);
  ++state.turns;
  state.used += lasted;
  state.has_turn = false;
  state.ended = state.asked = now;
}

double Turns::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// With the lock held.
void Turns::tell_all() {
  ++changes_;
  changed_.notify_all();
}

Turns::Place::Place(std::shared_ptr<Turns> turns)
    : turns_(std::move(turns)), member_([this] {
        const std::lock_guard lock(turns_->mutex_);
        return turns_->order_.join();
      }()) {}

Turn Turns::Place::wait(const std::stop_token& stop) {
  std::unique_lock lock(turns_->mutex_);
  TurnOrder& order = turns_->order_;
  order.ask(member_, now());
  while (!stop.stop_requested()) {
    const TurnOrder::Next next = order.next(now());
    if (next.member == member_) {
      order.begin(member_, now());
      return Turn(*this);
    }
    const auto wake = [&, seen = turns_->changes_] { return turns_->changes_ != seen; };
    if (next.look_again)
      turns_->changed_.wait_for(lock, stop, std::chrono::duration<double>(*next.look_again - now()), wake);
    else
      turns_->changed_.wait(lock, stop, wake);
  }
  order.withdraw(member_, now());
  turns_->tell_all();
  return {};
}

void Turns::Place::end_turn() {
  const std::lock_guard lock(turns_->mutex_);
  turns_->order_.end(member_, now());
  turns_->tell_all();
}

void Turns::Place::leave() {
  const std::lock_guard lock(turns_->mutex_);
  turns_->order_.leave(member_);
  turns_->tell_all();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
