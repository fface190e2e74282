// The subsets of a live reconstruction: each goes out as soon as the projector is free; while none is new, those that
// have come are iterated over (share/doc/live.md). The order is written down, and can be followed again.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/latency.hpp"
#include "core/gadget.hpp"
#include "gadgets/io/update_log.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/deadline.hpp"
#include "gadgets/subset/live_order.hpp"
#include "gadgets/subset/recorded_order.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/subset_cutter.hpp"

namespace tofstream {

enum class Final { converged, offline, none };
constexpr auto enum_names(Final) {
  return names(Final::converged, "converged", Final::offline, "offline", Final::none, "none");
}

namespace {

using Clock = std::chrono::steady_clock;

struct LiveSubsets {
  struct Params {
    double seconds = 0;
    std::int64_t events = 0;
    std::int64_t least_events = 0;
    int iterations = 3;
    int window = 16;
    Final final = Final::converged;
    double deadline_ms = 0;
    std::vector<Degrade> degrade = {Degrade::no_idle_iterations, Degrade::larger_subsets};
    std::filesystem::path order = update_log_name;
    std::filesystem::path follow;
    std::filesystem::path resume_from;
    double reference_s = 1;
    BackendChoice backend = BackendChoice::automatic;
    double device_reserve_gib = 4;
    double host_reserve_gib = 4;
    std::filesystem::path spill_folder;
    ImageParams image;
  };
  static constexpr auto params = describe(
      param<&Params::seconds>("seconds", at_least(0), unit("s"), "A subset as soon as this much scan time has come"),
      param<&Params::events>("events", at_least(0), "Or: as soon as this many events have come"),
      param<&Params::least_events>("least_events", at_least(0), least_events_words),
      param<&Params::iterations>("iterations", range(1, 10000),
                                 "Updates that each subset is to have: beyond as many for each, idle time stays idle"),
      param<&Params::window>("window", range(1, 100000), "Subsets, the latest, that take turns in idle time"),
      param<&Params::final>("final",
                            "When the scan has ended: converged, what is missing of each subset's updates; offline, "
                            "anew from the start image, as offline; or none"),
      param<&Params::deadline_ms>("deadline_ms", at_least(0), unit("ms"),
                                  "From the last event of a subset to the estimate with it; 0: no deadline"),
      param<&Params::degrade>("degrade", "What is given up, step by step, where the deadline is not met"),
      param<&Params::order>("order", in_run_folder,
                            "Where the order of updates is written, in the output folder; none: nowhere"),
      param<&Params::follow>("follow", reads_file,
                             "An order to follow, or the folder with it: the recording gives the live image"),
      param<&Params::resume_from>("resume_from",
                                  "Folder of a run that was killed, to go on from its order and checkpoint"),
      param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"),
                                  "Scan time that the image counts decays of: 1 makes it an activity"),
      param<&Params::backend>("backend", "Where the subsets will be projected"),
      param<&Params::device_reserve_gib>("device_reserve_gib", at_least(0), unit("GiB"), device_reserve_words),
      param<&Params::host_reserve_gib>("host_reserve_gib", at_least(0), unit("GiB"), host_reserve_words),
      param<&Params::spill_folder>("spill_folder", spilling_is_operators, spill_folder_words),
      param<&Params::image>("image", "The image, for which room is left on the GPU"));
  static MemoryNeed memory(const Params& p) {
    return {.message_bytes = memory_product(static_cast<std::size_t>(p.events), event_bytes),
            .gives_on_device = wants_cuda(p.backend),
            .lower = "events",
            .note = keeps_events_note};
  }
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  LiveSubsets(const Params& p, Context& context)
      : p_(p),
        store_(store_settings(p)),
        cutter_({p.events, p.seconds, p.least_events, p.reference_s}),
        order_({p.iterations, p.window}),
        recorded_(p.follow, p.resume_from),
        deadline_(p.deadline_ms, p.degrade) {
    if ((p.events > 0) + (p.seconds > 0) != 1) throw std::invalid_argument("set exactly one of events and seconds");
    if (!p.order.empty()) context.output_file(p.order);
  }

  void process(EventBatch batch, Context& context) {
    if (batch.count > 0) require_one_kind(batch, delayed_);
    if (!scanner_) scanner_ = batch.scanner;
    for (StoredSubset& subset : cutter_.take(std::move(batch), store_)) arrive(std::move(subset), context);
  }

  // The projector is free, and so what went out last has become an estimate.
  bool idle(Emit<Subset>& emit, Context& context) {
    note_latency(context);
    if (announce(emit)) return true;
    if (!recorded_.is_over()) return follow(emit, context);
    if (recorded_.is_whole()) return false;
    auto update = order_.next_new(deadline_.is_given_up(Degrade::larger_subsets));
    if (!update && !deadline_.is_given_up(Degrade::no_idle_iterations)) update = order_.next_replay();
    if (update) send(*update, emit, context);
    return update.has_value();
  }

  void flush(Emit<Subset>& emit, Context& context) {
    announce(emit);
    if (auto rest = cutter_.finish(store_)) arrive(std::move(*rest), context);
    while (follow(emit, context)) {
    }
    if (!recorded_.is_over() && !context.stopping())
      throw std::runtime_error(
          fmt::format("the order to follow names subset {}, and {} came: it is of another recording",
                      recorded_.next().first + recorded_.next().count - 1, order_.arrived()));
    if (recorded_.is_whole()) {
      reject_what_is_left(context);
    } else {
      while (const auto update = order_.next_new(deadline_.is_given_up(Degrade::larger_subsets)))
        send(*update, emit, context);
      finish(emit, context);
    }
    if (log_) write_log([&] { log_->end(); }, context);
    report(context);
  }

 private:
  bool announce(Emit<Subset>& emit) {
    if (!scanner_ || std::exchange(is_announced_, true)) return false;
    emit(announcement_of(scanner_));
    return true;
  }

  void arrive(StoredSubset subset, Context& context) {
    if (subset.is_rest)
      order_.arrive_rest();
    else
      order_.arrive();
    subsets_.push_back(std::move(subset));
    let_go_if_done(order_.in_a_pass() - 1 - p_.window);
    const auto ingress = context.message().last_ingress;
    came_.push_back(ingress == Clock::time_point{} ? Clock::now() : ingress);
    context.report("subsets", static_cast<std::int64_t>(order_.in_a_pass()));
    context.report("events_kept", store_.in_words());
  }

  // What the order that is followed has next, where its subsets have come. False where nothing went out.
  bool follow(Emit<Subset>& emit, Context& context) {
    while (!recorded_.is_over()) {
      const UpdateRecord record = recorded_.next();
      const LiveUpdate update{record.first, record.count, false};
      if (!record.restart && record.first + record.count > order_.arrived()) return false;
      if (!record.restart && record.events != events_of(update))
        throw std::runtime_error(fmt::format(
            "update {} of the order to follow is of {} events, and its subset has {} here: it is of another "
            "recording, or the subsets are cut otherwise",
            record.update, record.events, events_of(update)));
      const bool is_done = recorded_.next_is_in_checkpoint();
      if (is_done) pass(record, context);
      recorded_.advance();
      if (is_done) continue;
      if (record.restart)
        restart(emit, context);
      else
        send(with_news(update), emit, context);
      return true;
    }
    return false;
  }

  // In the checkpoint's image already.
  void pass(const UpdateRecord& record, Context& context) {
    ++updates_;
    if (record.restart) {
      offline_ = 0;
      return;
    }
    const LiveUpdate update = with_news({record.first, record.count, false});
    context.books().reconstructed(new_events_of(update));
    if (offline_) ++*offline_;
    order_.note(update);
  }

  LiveUpdate with_news(LiveUpdate update) const {
    const int last = update.first + update.count - 1;
    update.is_new = order_.updates_of(last) == 0;
    const int alike = order_.is_rest(last) ? last - 1 : last;
    for (int k = update.first; k < alike; ++k)
      if ((order_.updates_of(k) == 0) != (order_.updates_of(alike) == 0))
        throw std::runtime_error("the order to follow puts new subsets together with old ones: it was not written so");
    return update;
  }

  // An order that was written to its end is all that is done.
  void reject_what_is_left(Context& context) {
    std::optional<LiveUpdate> update;
    while ((update = order_.next_new(true)) || (update = order_.next_rest())) {
      context.books().rejected(new_events_of(*update), "behind the end of the order that is followed");
      order_.note(*update);
    }
  }

  void finish(Emit<Subset>& emit, Context& context) {
    std::optional<LiveUpdate> update;
    if (p_.final == Final::converged)
      while (!context.stopping() && (update = order_.next_missing())) send(*update, emit, context);
    if (const auto rest = order_.next_rest()) send(*rest, emit, context);
    if (p_.final == Final::none || subsets_.empty()) return;
    if (p_.final == Final::offline && !context.stopping()) {
      if (!offline_) restart(emit, context);
      const auto all = static_cast<std::int64_t>(p_.iterations) * order_.in_a_pass();
      while (*offline_ < all && !context.stopping())
        send(order_.update_with(static_cast<int>(*offline_ % order_.in_a_pass())), emit, context);
    }
    if (!context.stopping()) return;
    context.log().info("stopped: the estimate is written as it is, without what `final` asks for");
    context.report("final_left_out", true);
  }

  // Back to the start image: some events are projected for nothing, so that the estimate comes round the cycle.
  void restart(Emit<Subset>& emit, Context& context) {
    offline_ = 0;
    UpdateRecord record{.update = ++updates_, .restart = true};
    write_record(record, context);
    Subset subset;
    subset.step = {.iteration = 0, .update = updates_, .replayed = true, .restart = true};
    subset.batches = {subsets_.front().batches.front()};
    emit(std::move(subset));
  }

  void send(const LiveUpdate& update, Emit<Subset>& emit, Context& context) {
    Subset subset;
    subset.step = step_of(update);
    subset.time_fraction = 0;
    for (int k = update.first; k < update.first + update.count; ++k) {
      const StoredSubset& part = subsets_[static_cast<std::size_t>(k)];
      subset.batches.insert(subset.batches.end(), part.batches.begin(), part.batches.end());
      subset.time_fraction += part.time_fraction;
      if (update.is_new && order_.updates_of(k) > 0) subset.known_batches = subset.batches.size();
    }
    subset.quantity = cutter_.quantity();
    write_record({updates_, update.first, update.count, events_of(update)}, context);
    order_.note(update);
    if (offline_) ++*offline_;
    if (update.is_new) sent_ = came_[static_cast<std::size_t>(update.first + update.count - 1)];
    for (int k = update.first; k < update.first + update.count; ++k) let_go_if_done(k);
    context.report("updates", updates_);
    emit(std::move(subset));
  }

  // The events of a subset that no rule can name any more: one that has had its turns and its updates. So the memory
  // for a long scan is bounded where the projector keeps pace, unless all of it is wanted at the end.
  void let_go_if_done(int k) {
    if (k < 0 || k >= order_.in_a_pass() - p_.window || p_.final == Final::offline || !recorded_.is_over()) return;
    if (order_.updates_of(k) >= (p_.final == Final::none ? 1 : p_.iterations))
      subsets_[static_cast<std::size_t>(k)].batches.clear();
  }

  UpdateStep step_of(const LiveUpdate& update) {
    UpdateStep step{.iteration = order_.updates_of(update.first + update.count - 1) + 1,
                    .iterations = 0,
                    .subset = update.first,
                    .subsets = 0,
                    .update = ++updates_,
                    .replayed = !update.is_new};
    if (!offline_) return step;
    const int all = order_.in_a_pass();
    step.iteration = static_cast<int>(*offline_ / all) + 1;
    step.iterations = p_.iterations;
    step.subsets = all;
    step.ends_iteration = update.first + 1 == all;
    step.last = step.ends_iteration && step.iteration == p_.iterations;
    return step;
  }

  std::uint64_t events_of(const LiveUpdate& update) const {
    std::uint64_t sum = 0;
    for (int k = update.first; k < update.first + update.count; ++k)
      sum += subsets_[static_cast<std::size_t>(k)].event_count();
    return sum;
  }

  // The update's events that no update has had before.
  std::uint64_t new_events_of(const LiveUpdate& update) const {
    std::uint64_t sum = 0;
    for (int k = update.first; k < update.first + update.count; ++k)
      if (order_.updates_of(k) == 0) sum += subsets_[static_cast<std::size_t>(k)].event_count();
    return sum;
  }

  // Before the update itself: an estimate that was seen or kept is in the order.
  void write_record(const UpdateRecord& record, Context& context) {
    if (p_.order.empty()) return;
    write_log(
        [&] {
          const auto passed = recorded_.passed();
          const auto before =
              passed.first(std::min<std::size_t>(passed.size(), static_cast<std::size_t>(record.update) - 1));
          if (!log_) log_.emplace(context.output_file(p_.order), before);
          log_->append(record);
        },
        context);
  }

  // A scan goes on where its order cannot be written any more, as on a full disk.
  template <class Write>
  void write_log(const Write& write, Context& context) {
    if (is_log_broken_) return;
    try {
      write();
    } catch (const std::system_error& error) {
      is_log_broken_ = true;
      context.report("order_broken", true);
      context.log().warning(fmt::format("the order of updates is written no further: {}", error.what()));
    }
  }

  // What came before the projector was ready waited for the sensitivity, which is computed once the scanner is known:
  // that says nothing of the latency to come.
  void note_latency(Context& context) {
    const auto now = Clock::now();
    if (!ready_ && (is_announced_ || sent_)) ready_ = now;
    if (!sent_) return;
    const auto came = *std::exchange(sent_, std::nullopt);
    if (came < *ready_) return;
    const auto latency = now - came;
    latency_.add(latency);
    const auto change = deadline_.note(std::chrono::duration<double, std::milli>(latency).count());
    if (!change) return;
    context.log().warning(*change);
    degradations_.push_back(fmt::format("update {}: {}", updates_, *change));
    context.report("degradations", degradations_);
  }

  void report(Context& context) {
    context.report("updates", updates_);
    context.report("events_kept", store_.in_words());
    if (latency_.count() > 0) {
      context.report("latency_ms_p50", 1e3 * latency_.quantile_seconds(0.5));
      context.report("latency_ms_p99", 1e3 * latency_.quantile_seconds(0.99));
      context.report("latency_ms_max", 1e3 * latency_.max_seconds());
    }
    if (p_.deadline_ms > 0) context.report("deadline_missed", static_cast<std::int64_t>(deadline_.missed()));
  }

  Params p_;
  EventStore store_;
  SubsetCutter cutter_;
  LiveOrder order_;
  RecordedOrder recorded_;
  Deadline deadline_;
  std::optional<UpdateLogWriter> log_;
  bool is_log_broken_ = false;
  std::optional<bool> delayed_;  // whether the events are delayeds
  std::shared_ptr<const Scanner> scanner_;
  bool is_announced_ = false;  // the scanner, to the projector
  std::vector<StoredSubset> subsets_;
  std::vector<Clock::time_point> came_;     // the last events of each subset
  std::int64_t updates_ = 0;                // so far, those in a checkpoint included
  std::optional<std::int64_t> offline_;     // updates since the estimate went back to the start image
  std::optional<Clock::time_point> sent_;   // when the events came that are being projected for the first time
  std::optional<Clock::time_point> ready_;  // when the projector had the sensitivity
  LatencyHistogram latency_;
  std::vector<std::string> degradations_;
};

TOFSTREAM_GADGET(LiveSubsets, "live_subsets",
                 "Groups sorted events into subsets as they come, and iterates over them while the projector is free");

}  // namespace
}  // namespace tofstream
