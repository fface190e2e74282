// Histo-images that are reconstructed while they fill: whenever the projector is free, the next group of views goes out
// as it stands. The order of updates is recorded, with the event up to which each was made, and can be followed again.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/latency.hpp"
#include "core/gadget.hpp"
#include "gadgets/direct/histo_filling.hpp"
#include "gadgets/direct/histo_order.hpp"
#include "gadgets/subset/live_update.hpp"
#include "gadgets/subset/live_updates.hpp"
#include "gadgets/subset/order_file.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/recorded_order.hpp"
#include "gadgets/subset/subset_data.hpp"
#include "gadgets/subset/subset_quantity.hpp"
#include "gadgets/subset/view_groups.hpp"
#include "kernels/sort/partition.hpp"

namespace tofstream {
namespace {

constexpr PassRule in_turn = PassRule::golden;  // as view_subsets has histo-images

struct LiveHisto {
  struct Params {
    ImageParams image;
    std::array<int, 2> views = {40, 3};
    float acceptance_deg = 10;
    HistoLattice lattice = HistoLattice::view;
    DepositKind deposit = DepositKind::linear;
    DepositSpread spread = DepositSpread::none;
    HistoCounts counts = HistoCounts::real;
    std::filesystem::path mu_map;
    HistoRandomsParams randoms;
    HistoScatterParams scatter;
    std::int64_t most_lines = 50'000'000;
    int subsets = 20;
    int iterations = 3;
    Final final = Final::converged;
    PassRule final_order = in_turn;
    std::int64_t seed = 1;
    std::filesystem::path order = update_log_name;
    std::filesystem::path follow;
    std::filesystem::path resume_from;
    BackendChoice backend = BackendChoice::automatic;
    double device_reserve_gib = 4;
  };
  static constexpr auto params = describe(
      param<&Params::image>("image", histo_image_words),
      param<&Params::views>("views", range(1, 4096), histo_views_words),
      param<&Params::acceptance_deg>("acceptance_deg", range(0.01, 80), unit("degrees"), acceptance_words),
      param<&Params::lattice>("lattice", histo_lattice_words), param<&Params::deposit>("deposit", deposit_words),
      param<&Params::spread>("spread", spread_words), param<&Params::counts>("counts", histo_counts_words),
      param<&Params::mu_map>("mu_map", reads_file, histo_mu_map_words),
      param<&Params::randoms>("randoms",
                              "Random coincidences, corrected in the images that `final: offline` makes, and in none "
                              "before the scan has ended"),
      param<&Params::scatter>("scatter", histo_scatter_words),
      param<&Params::most_lines>("most_lines", range(1000, 2147483648.0), histo_most_lines_words),
      param<&Params::subsets>("subsets", range(1, 1000),
                              "Groups of views, an update each; as many as there are views for block RAMLA"),
      param<&Params::iterations>(
          "iterations", range(1, 10000),
          "Updates with a group after its last event; once all have had them, the projector stays "
          "idle. Of `final: offline`, passes over all groups"),
      param<&Params::final>("final",
                            "What follows the end of the scan. converged: the updates that groups still lack; offline: "
                            "a reconstruction from the start image, as of histo_deposit; none: nothing"),
      param<&Params::final_order>("final_order", final_order_words),
      param<&Params::seed>("seed", at_least(0), pass_seed_words),
      param<&Params::order>("order", in_run_folder, order_words),
      param<&Params::follow>("follow", reads_file, follow_words),
      param<&Params::resume_from>("resume_from", resume_words),
      param<&Params::backend>("backend", "Where events are deposited; the sensitivity is computed on the CPU"),
      param<&Params::device_reserve_gib>("device_reserve_gib", at_least(0), unit("GiB"), histo_reserve_words));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) {
    const HistoSettings settings = histo_settings(p);
    const auto views = static_cast<std::size_t>(settings.views.count()), groups = static_cast<std::size_t>(p.subsets);
    return histo_memory(settings, (views + groups - 1) / groups, true);
  }

  LiveHisto(const Params& p, Context& context)
      : histo_(histo_settings(p), context),
        subsets_(p.subsets),
        iterations_(p.iterations),
        final_(p.final),
        final_order_{p.final_order, p.seed},
        recorded_(p.follow, p.resume_from, &require_possible),
        file_(p.order, context) {
    if (p.randoms.from != HistoRandomsFrom::none && p.final != Final::offline)
      throw std::invalid_argument(
          "randoms are estimated when the scan has ended, and corrected from then on: give final: offline with them");
  }

  void process(EventBatch batch, Emit<ViewSubset>& emit, Context& context) {
    if (batch.delayed) return histo_.add(std::move(batch), context);
    while (const auto end = next_end_within(batch)) {
      const std::int64_t cut = static_cast<std::int64_t>(*end - seen_);
      if (cut > 0) {
        auto pieces = split_by_arrival(std::move(batch), std::span(&cut, 1), nullptr);
        take(std::move(pieces.front()), emit, context);
        batch = std::move(pieces.back());
      }
      follow_next(emit, context);
    }
    take(std::move(batch), emit, context);
  }

  bool idle(Emit<ViewSubset>& emit, Context& context) {
    note_latency();
    if (!order_ || !recorded_.is_over() || recorded_.is_whole()) return false;
    const auto group = order_->next();
    if (group) send(*group, {seen_, histo_.exposed_s()}, emit, context);
    return group.has_value();
  }

  void flush(Emit<ViewSubset>& emit, Context& context) {
    if (!histo_.has_begun()) return context.log().warning("no events came: there are no histo-images");
    histo_.report(context);
    follow_to_the_end(emit, context);
    if (recorded_.is_whole()) {
      reject_what_is_left(context);
    } else {
      while (const auto group = order_->next_new()) send(*group, {seen_, histo_.exposed_s()}, emit, context);
      finish(emit, context);
    }
    file_.end(context);
    report(context);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static void require_possible(const UpdateRecord& record) {
    if (record.restart || record.as_of) return;
    throw std::runtime_error(fmt::format(
        "update {} of the order is of data that do not grow: follow it with the gadget that it was written for",
        record.update));
  }

  // The event of the followed order's next update, if it is in this batch or before it.
  std::optional<std::uint64_t> next_end_within(const EventBatch& batch) const {
    if (recorded_.is_over() || recorded_.next().restart) return std::nullopt;
    const std::uint64_t end = recorded_.next().as_of->event;
    if (end < seen_ || end > seen_ + static_cast<std::uint64_t>(batch.count) || (end == seen_ && !order_))
      return std::nullopt;
    return end;
  }

  void take(EventBatch batch, Emit<ViewSubset>& emit, Context& context) {
    seen_ += static_cast<std::uint64_t>(batch.count);
    const bool has_events = batch.count > 0;
    histo_.add(std::move(batch), context);
    if (!has_events) return;
    if (!order_) begin(emit, context);
    newest_ = context.message();
    if (newest_.last_ingress == Clock::time_point{}) newest_.ingress = newest_.last_ingress = Clock::now();
    const std::vector<std::uint64_t>& events = histo_.events_of_views();
    for (std::size_t v = 0; v < waiting_.size(); ++v)
      if (events[v] > order_->events_of_view(static_cast<int>(v))) waiting_[v].push_back(newest_.last_ingress);
    order_->grow(events);
  }

  // Views have no time of their own: how long they were exposed differs from update to update.
  void begin(Emit<ViewSubset>& emit, Context& context) {
    set_ = histo_.view_set(0, 0);
    const std::vector<int> group_of = view_groups(*set_, subsets_);
    std::vector<std::vector<int>> groups;
    for (const int number : pass_order({in_turn}, subsets_, 1)) {
      auto& group = groups.emplace_back();
      for (std::size_t v = 0; v < group_of.size(); ++v)
        if (group_of[v] == number) group.push_back(static_cast<int>(v));
    }
    waiting_.resize(group_of.size());
    order_.emplace(std::move(groups), iterations_);
    context.made_from(of_no_event(context.message()));
    emit(announcement_of(histo_.all_without_counts(set_)));
  }

  void follow_to_the_end(Emit<ViewSubset>& emit, Context& context) {
    while (!recorded_.is_over() && !context.stopping()) {
      const UpdateRecord& next = recorded_.next();
      if (!next.restart && next.as_of->event != seen_)
        throw std::runtime_error(
            fmt::format("update {} of the order to follow is as of event {}, and {} came: it belongs to another "
                        "recording",
                        next.update, next.as_of->event, seen_));
      follow_next(emit, context);
    }
  }

  void follow_next(Emit<ViewSubset>& emit, Context& context) {
    const UpdateRecord record = recorded_.next();
    const bool is_done = recorded_.next_is_in_checkpoint();
    const int group = record.restart ? -1 : group_of(record);
    recorded_.advance();
    if (record.restart) {
      if (!is_done) return restart(emit, context);
      ++updates_;
      histo_.lay_down_randoms(context);
      offline_ = 0;
    } else if (is_done) {
      pass(group, context);
    } else {
      send(group, *record.as_of, emit, context);
    }
  }

  int group_of(const UpdateRecord& record) const {
    std::vector<int> views;
    for_each_part(record, [&](int view) { views.push_back(view); });
    const auto group = order_->group_of(views);
    if (!group)
      throw std::runtime_error(fmt::format(
          "update {} of the order to follow is with views that are no group here: give the `views` and `subsets` that "
          "it was written with",
          record.update));
    if (order_->events_of(*group) != record.events)
      throw std::runtime_error(
          fmt::format("update {} of the order to follow has {} events, but its views have {} here: it belongs to "
                      "another recording, or events are deposited differently",
                      record.update, record.events, order_->events_of(*group)));
    return *group;
  }

  // Counts an update that the checkpoint's image has already.
  void pass(int group, Context& context) {
    ++updates_;
    recorded_.books().book(order_->new_events_of(group), context);
    if (offline_) ++*offline_;
    note(group);
  }

  void reject_what_is_left(Context& context) {
    while (const auto group = order_->next_new()) {
      context.books().rejected(order_->new_events_of(*group), "after the end of the order that is followed");
      note(*group);
    }
  }

  void finish(Emit<ViewSubset>& emit, Context& context) {
    if (final_ == Final::none) return;
    const AsOf all{seen_, histo_.exposed_s()};
    if (final_ == Final::offline && !offline_ && !context.stopping()) restart(emit, context);
    if (final_ == Final::offline) warn_of_order(final_order_, order_->groups(), context);
    while (!context.stopping()) {
      const auto group = final_ == Final::offline ? next_offline() : order_->next();
      if (!group) return;
      send(*group, all, emit, context);
    }
    context.log().info("stopped: the estimate is written as it is, without what `final` asks for");
    context.report("final_left_out", true);
  }

  std::optional<int> next_offline() const {
    // An order that was followed may have had more.
    if (*offline_ >= std::int64_t{iterations_} * order_->groups()) return std::nullopt;
    const int all = order_->groups();
    const auto iteration = static_cast<int>(*offline_ / all) + 1;
    const auto place = static_cast<std::size_t>(*offline_ % all);
    const std::vector<int> numbers = pass_order({in_turn}, subsets_, 1);  // as order_ has them
    const auto at = std::ranges::find(numbers, pass_order(final_order_, all, iteration)[place]);
    return static_cast<int>(at - numbers.begin());
  }

  void restart(Emit<ViewSubset>& emit, Context& context) {
    offline_ = 0;
    histo_.lay_down_randoms(context);
    file_.write({.update = ++updates_, .restart = true}, recorded_.passed(), context);
    context.made_from(of_no_event(newest_));
    emit(restart_of<ViewBatch>(updates_));
  }

  void send(int group, const AsOf& as_of, Emit<ViewSubset>& emit, Context& context) {
    const std::vector<int>& views = order_->views_of(group);
    ViewSubset subset{.step = step_of(group), .batches = {}};
    ViewBatch batch = histo_.views(views, set_, as_of.exposed_s);
    for (std::size_t v = 0; v < views.size(); ++v)
      batch.records[v].counts =
          subset.step.replayed ? order_->events_of_view(views[v]) : order_->new_events_of_view(views[v]);
    subset.batches = {std::make_shared<const ViewBatch>(std::move(batch))};
    subset.is_last_time = true;  // the next update with these views has a batch of its own
    subset.quantity = quantity();
    file_.write({updates_, parts_of(views), order_->events_of(group), as_of}, recorded_.passed(), context);
    note(group);
    if (offline_) ++*offline_;
    MessageInfo data = newest_;
    data.first_event = 0;
    context.made_from(data);
    context.report("updates", updates_);
    emit(std::move(subset));
  }

  UpdateStep step_of(int group) {
    UpdateStep step{
        .iterations = 0, .subset = group, .update = ++updates_, .replayed = order_->new_events_of(group) == 0};
    if (!offline_) {
      step.round = order_->next_round(group);
      return step;
    }
    const int all = order_->groups();
    step.subset = static_cast<int>(*offline_ % all);
    step.iteration = static_cast<int>(*offline_ / all) + 1;
    step.iterations = iterations_;
    step.subsets = all;
    step.ends_iteration = step.subset + 1 == all;
    step.last = step.ends_iteration && step.iteration == iterations_;
    return step;
  }

  void note(int group) {
    order_->note(group);
    for (const int view : order_->views_of(group)) {
      auto& waiting = waiting_[static_cast<std::size_t>(view)];
      sent_.insert(sent_.end(), waiting.begin(), waiting.end());
      waiting.clear();
    }
  }

  // What came before the projector was ready waited for the sensitivity, and says nothing about later events.
  void note_latency() {
    const auto now = Clock::now();
    if (order_ && !ready_) ready_ = now;
    for (const auto came : std::exchange(sent_, {}))
      if (ready_ && came >= *ready_) latency_.add(now - came);
  }

  std::shared_ptr<const Quantity> quantity() const {
    SubsetQuantity quantity;
    quantity.add(histo_.quantity());
    return quantity.get(histo_.duration_s() > 0 ? 1 : 0);
  }

  void report(Context& context) const {
    context.report("updates", updates_);
    if (latency_.count() == 0) return;
    context.report("latency_ms_p50", 1e3 * latency_.quantile_seconds(0.5));
    context.report("latency_ms_p99", 1e3 * latency_.quantile_seconds(0.99));
    context.report("latency_ms_max", 1e3 * latency_.max_seconds());
  }

  HistoFilling histo_;
  int subsets_, iterations_;
  Final final_;
  PassOrder final_order_;
  RecordedOrder recorded_;
  OrderFile file_;
  std::shared_ptr<const ViewSet> set_;
  std::optional<HistoOrder> order_;      // once events have come
  std::uint64_t seen_ = 0;               // prompts
  std::int64_t updates_ = 0;             // so far, those in a checkpoint included
  std::optional<std::int64_t> offline_;  // updates since the estimate was reset to the start image
  MessageInfo newest_;
  std::vector<std::vector<Clock::time_point>> waiting_;  // of each view: when the events came that no update has
  std::vector<Clock::time_point> sent_;                  // of the update that is being made
  std::optional<Clock::time_point> ready_;               // when the projector had the sensitivity
  LatencyHistogram latency_;
};

TOFSTREAM_GADGET(
    LiveHisto, "live_histo",
    "Deposits events into histo-images (DIRECT), and gives views as they stand while the projector is free");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
