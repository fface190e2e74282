// The updates of a live reconstruction, whatever kind of data its subsets are of: each subset goes out as soon as the
// projector is free; while none is new, the earlier ones are iterated over (share/doc/live.md). The order is recorded
// and can be followed again.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/latency.hpp"
#include "core/gadget.hpp"
#include "core/value/params.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/conditions_so_far.hpp"
#include "gadgets/subset/deadline.hpp"
#include "gadgets/subset/live_order.hpp"
#include "gadgets/subset/order_file.hpp"
#include "gadgets/subset/recorded_order.hpp"
#include "gadgets/subset/stored_subset.hpp"
#include "gadgets/subset/subset_data.hpp"

namespace tofstream {

/// What is done after the end of the scan.
enum class Final { converged, offline, none };
constexpr auto enum_names(Final) {
  return names(Final::converged, "converged", Final::offline, "offline", Final::none, "none");
}

struct LiveSettings {
  int iterations = 3;  // updates that each subset should have
  Final final = Final::converged;
  double deadline_ms = 0;  // 0: none
  std::vector<Degrade> degrade = {};
  std::filesystem::path order = {};  // file of the order, in the run's folder; empty: none
  std::filesystem::path follow = {};
  std::filesystem::path resume_from = {};
  PassOrder final_order = {};  // of the passes of Final::offline
};

/// What gadgets of live updates declare alike: their own parameters come before these, those of `Base` after them.
/// live_settings() also takes `iterations` and `final_order`, which each gadget declares itself.
template <class Base>
struct LiveParams : Base {
  Final final = Final::converged;
  std::int64_t seed = 1;
  double deadline_ms = 0;
  std::vector<Degrade> degrade = {Degrade::no_idle_iterations, Degrade::larger_subsets};
  std::filesystem::path order = update_log_name;
  std::filesystem::path follow;
  std::filesystem::path resume_from;
  static constexpr auto params =
      describe(
          param<&LiveParams::final>("final",
                                    "What follows the end of the scan. converged: the updates that subsets, or views, "
                                    "still lack; offline: a reconstruction from the start image, as of a file; none: "
                                    "nothing"),
          param<&LiveParams::seed>("seed", at_least(0), pass_seed_words),
          param<&LiveParams::deadline_ms>(
              "deadline_ms", at_least(0), unit("ms"),
              "Longest time from the last event of a subset, or a view, to the estimate that includes it; 0: no "
              "deadline"),
          param<&LiveParams::degrade>("degrade", "What to give up, step by step, while the deadline is not met"),
          param<&LiveParams::order>("order", in_run_folder, order_words),
          param<&LiveParams::follow>("follow", reads_file, follow_words),
          param<&LiveParams::resume_from>("resume_from", resume_words)) +
      Base::params;
};

/// From a gadget's parameters.
template <class Params>
LiveSettings live_settings(const Params& p) {
  return {p.iterations, p.final, p.deadline_ms, p.degrade, p.order, p.follow, p.resume_from, {p.final_order, p.seed}};
}

/// `Data`: see Subset. `Order`: says which parts of the scan the next update is with, by the public functions of
/// LiveOrder; what it tells apart in the data, it learns in arrive(). live_updates-inl.hpp has the definitions.
template <class Data, class Order = LiveOrder>
class LiveUpdates {
 public:
  using Batches = std::vector<std::shared_ptr<const Data>>;

  /// `quantity`: what an image of all data so far shows. `join`: makes fewer batches of a subset's, which were
  /// reconstructed before or were not; null where a batch is large enough. Throws std::runtime_error for an order that
  /// cannot be followed.
  LiveUpdates(LiveSettings settings, Order order, std::function<std::shared_ptr<const Quantity>()> quantity,
              Context& context, std::function<Batches(Batches)> join = nullptr);

  /// The scanner is known; only the first call counts. `like`: a batch without data.
  void announce(Data like);
  /// The conditions of the first events, before they are announced.
  void begin(Conditions first) {
    if (!is_announced_) so_far_.begin(std::move(first));
  }
  /// One more subset has come.
  void arrive(StoredSubset<Data> subset, Context& context);
  /// The projector is free, so the subset that went out last has become an estimate. False where nothing goes out.
  /// Throws std::runtime_error where the order that is followed is of other data.
  bool idle(Emit<Subset<Data>>& emit, Context& context);
  /// The scan has ended, and all subsets have come. Throws as idle() does.
  void flush(Emit<Subset<Data>>& emit, Context& context);

 private:
  using Clock = std::chrono::steady_clock;

  bool send_announcement(Emit<Subset<Data>>& emit, Context& context);
  bool follow(Emit<Subset<Data>>& emit, Context& context);
  void pass(const UpdateRecord& record, Context& context);
  void reject_what_is_left(Context& context);
  void finish(Emit<Subset<Data>>& emit, Context& context);
  void restart(Emit<Subset<Data>>& emit, Context& context);
  void gather(const LiveUpdate& update, Subset<Data>& subset) const;
  void send(const LiveUpdate& update, Emit<Subset<Data>>& emit, Context& context);
  void note_data(MessageInfo message);
  void note_conditions(const LiveUpdate& update);
  bool let_go_if_done(int k);
  UpdateStep step_of(const LiveUpdate& update);
  StoredSubset<Data>& kept(int k) { return subsets_[static_cast<std::size_t>(k)]; }
  const StoredSubset<Data>& kept(int k) const { return subsets_[static_cast<std::size_t>(k)]; }
  template <class Update>
  std::uint64_t events_of(const Update& update) const;
  std::uint64_t new_events_of(const LiveUpdate& update) const;
  void note_latency(Context& context);
  void report(Context& context) const;

  LiveSettings p_;
  std::function<std::shared_ptr<const Quantity>()> quantity_;
  std::function<Batches(Batches)> join_;
  Order order_;
  RecordedOrder recorded_;
  Deadline deadline_;
  OrderFile file_;
  std::optional<Data> announcement_;  // not sent yet
  bool is_announced_ = false;
  std::vector<StoredSubset<Data>> subsets_;
  std::vector<MessageInfo> came_;           // each subset's events, and when they came
  SubsetData cut_;                          // where a message may end one subset and begin the next
  MessageInfo newest_;                      // of came_: the newest subset that has gone out
  std::int64_t updates_ = 0;                // so far, those in a checkpoint included
  std::optional<std::int64_t> offline_;     // updates since the estimate was reset to the start image
  std::optional<Clock::time_point> sent_;   // when the new data that are being projected came
  std::optional<Clock::time_point> ready_;  // when the projector had the sensitivity
  LatencyHistogram latency_;
  std::vector<std::string> degradations_;
  ConditionsSoFar so_far_;
  ConditionsMisfit misfit_;
  int added_ = 0;  // subsets, to so_far_
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
