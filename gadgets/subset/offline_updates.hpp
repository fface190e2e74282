// The updates of an offline reconstruction, whatever kind of data its subsets are of: each subset goes out as it comes,
// and all of them again, in the same order, for every further iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/stored_subset.hpp"
#include "gadgets/subset/subset_data.hpp"

namespace tofstream {

struct OfflineSettings {
  int iterations = 1;
  // A subset goes out only when the next one has come: a rest may still join it, and while it is projected, the next
  // one can be copied to a GPU.
  bool holds_last = false;
};

/// `Data`: see Subset.
template <class Data>
class OfflineUpdates {
 public:
  /// `quantity`: what an image of all data so far shows.
  OfflineUpdates(OfflineSettings settings, std::function<std::shared_ptr<const Quantity>()> quantity)
      : settings_(settings), quantity_(std::move(quantity)) {}

  /// The scanner is known; only the first call counts. `like`: a batch without data.
  void announce(Data like, Emit<Subset<Data>>& emit, Context& context) {
    if (std::exchange(is_announced_, true)) return;
    context.made_from(of_no_event(context.message()));
    emit(announcement_of(std::move(like)));
  }

  /// How many subsets come in all, if this is known before the first.
  void expect(int subsets) { expected_ = subsets; }

  /// One more subset, of these data. A rest joins the one before it, which must still be held.
  void arrive(StoredSubset<Data> subset, const MessageInfo& data, Emit<Subset<Data>>& emit, Context& context) {
    if (subset.is_rest) {
      subsets_.back().join(std::move(subset));
      came_.back() = data_between(came_.back(), data);
      return;
    }
    subsets_.push_back(std::move(subset));
    came_.push_back(data);
    send_first_pass(subsets_.size() - (settings_.holds_last ? 1 : 0), emit, context);
  }

  /// The stream has ended: the subset that is held goes out, then the further iterations, unless a stop cuts them
  /// short.
  void finish(Emit<Subset<Data>>& emit, Context& context) {
    send_first_pass(subsets_.size(), emit, context);
    const int count = static_cast<int>(subsets_.size());
    for (int iteration = 2; iteration <= settings_.iterations; ++iteration)
      for (int k = 0; k < count; ++k) {
        if (context.stopping()) return say_stopped(iteration, k, context);
        send(iteration, k, count, emit, context);
      }
  }

 private:
  void send_first_pass(std::size_t end, Emit<Subset<Data>>& emit, Context& context) {
    while (sent_ < end) send(1, static_cast<int>(sent_++), expected_, emit, context);
  }

  // A replay is no answer to any event: its times are the newest that are in.
  void send(int iteration, int k, int count, Emit<Subset<Data>>& emit, Context& context) {
    const MessageInfo& own = came_[static_cast<std::size_t>(k)];
    MessageInfo data = iteration == 1 ? own : came_.back();
    data.first_event = own.first_event;
    data.end_event = own.end_event;
    context.made_from(data);
    emit(next(iteration, k, count));
  }

  // `count`: the subsets of an iteration; 0: not known. A subset that goes out for the last time is no longer kept.
  Subset<Data> next(int iteration, int k, int count) {
    const bool ends = count > 0 && k + 1 == count;
    const bool last_time = iteration == settings_.iterations;
    StoredSubset<Data>& stored = subsets_[static_cast<std::size_t>(k)];
    const UpdateStep step{iteration, settings_.iterations, k, count, ends, ends && last_time, ++updates_};
    Subset<Data> subset{step, stored.batches, stored.time_fraction};
    const auto following = static_cast<std::size_t>(ends ? 0 : k + 1);
    if (following < subsets_.size() && !subsets_[following].batches.empty())
      subset.next_batch = subsets_[following].batches.front();
    subset.quantity = quantity_();
    if (last_time) stored.batches.clear();
    return subset;
  }

  void say_stopped(int iteration, int k, Context& context) {
    context.log().info(fmt::format("stopped in iteration {} of {}, after {} of {} subsets", iteration,
                                   settings_.iterations, k, subsets_.size()));
    context.report("iterations_left_out", settings_.iterations - iteration + 1);
  }

  OfflineSettings settings_;
  std::function<std::shared_ptr<const Quantity>()> quantity_;
  bool is_announced_ = false;
  int expected_ = 0;
  std::vector<StoredSubset<Data>> subsets_;
  std::vector<MessageInfo> came_;  // of each subset
  std::size_t sent_ = 0;           // in the first iteration
  std::int64_t updates_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
