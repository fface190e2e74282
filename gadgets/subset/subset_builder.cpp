// The subsets of an offline list-mode reconstruction: sorted events grouped in time order, kept (on the GPU while they
// fit, else in host memory, else on disk) and sent by the rule of offline_updates.hpp.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "gadgets/subset/pass_params.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/subset_cutter.hpp"
#include "gadgets/subset/whole_stream.hpp"

namespace tofstream {

namespace {

struct SubsetBuilder {
  struct Params : PassParams {
    int subsets = 0;
    SubsetCut cut = SubsetCut::time;
    std::int64_t events = 0;
    double seconds = 0;
    std::int64_t least_events = 0;
    double reference_s = 1;
    std::filesystem::path resume_from;
  };
  static constexpr auto params =
      describe(param<&Params::subsets>("subsets", range(0, 100000),
                                       "Cut the whole stream into this many subsets, once it has ended"),
               param<&Params::cut>("cut", subset_cut_words),
               param<&Params::events>("events", at_least(0), "Or: a subset as soon as this many events have come"),
               param<&Params::seconds>("seconds", at_least(0), unit("s"),
                                       "Or: a subset as soon as this much scan time has come"),
               param<&Params::least_events>("least_events", at_least(0),
                                            "A subset grows until it has at least this many; what is left at the end "
                                            "of the stream joins the last one; there may then be fewer than `subsets`"),
               param<&Params::reference_s>("reference_s", range(0, 1e9), unit("s"), reference_words),
               param<&Params::resume_from>("resume_from", resume_offline_words)) +
      PassParams::params;
  // Subsets share the events that are held; their number is not known before the scan.
  static MemoryNeed memory(const Params& p) {
    return {.message_bytes = memory_product(static_cast<std::size_t>(p.events), event_bytes),
            .gives_on_device = wants_cuda(p.backend),
            .lower = "events",
            .note = p.iterations == 1 && p.subsets == 0 && p.order == PassRule::sequential
                        ? "holds the events of a few subsets, 12 to 28 B each"
                        : keeps_events_note};
  }
  static constexpr bool own_thread = true;  // emits every iteration from flush, held back by the edge
  static constexpr bool harmless = true;

  explicit SubsetBuilder(const Params& p)
      : p_(p),
        store_(store_settings(p)),
        cutter_({p.events, p.seconds, p.least_events, p.reference_s}),
        updates_({.iterations = p.iterations,
                  .holds_last = p.subsets > 0 || p.least_events > 0,
                  .order = {p.order, p.seed},
                  .resumed = checkpoint_step(p.resume_from)},
                 [this] { return p_.subsets > 0 ? waiting_.quantity() : cutter_.quantity(); }),
        waiting_({p.subsets, p.cut, p.least_events, p.reference_s}) {
    if (p.subsets == 0 && p.reference_s == 0)
      throw std::invalid_argument(
          "reference_s: 0 counts the decays of the whole scan, whose length only `subsets` waits for: set 1");
    if ((p.subsets > 0) + (p.events > 0) + (p.seconds > 0) != 1)
      throw std::invalid_argument("set exactly one of subsets, events and seconds");
    if (p.cut == SubsetCut::interleaved && p.subsets == 0)
      throw std::invalid_argument(
          "cut: interleaved needs the whole stream: set subsets, in place of events or seconds");
  }

  void process(EventBatch batch, Emit<EventSubset>& emit, Context& context) {
    if (batch.count > 0) require_one_kind(batch, delayed_);
    if (batch.scanner) {
      if (p_.subsets == 0) updates_.begin(conditions_of(batch));
      updates_.announce(announced_by(batch), emit, context);
    }
    if (p_.subsets > 0) return waiting_.take(std::move(batch), context.message(), store_);
    for (StoredEvents& subset : cutter_.take(std::move(batch), store_)) {
      updates_.arrive(std::move(subset), data_.ended_by(context.message()), emit, context);
      report(context);
    }
  }

  void flush(Emit<EventSubset>& emit, Context& context) {
    if (p_.subsets > 0) {
      waiting_.cut(updates_, store_, emit, context);
    } else if (auto rest = cutter_.finish(store_)) {
      updates_.arrive(std::move(*rest), data_.ended_by(context.message()), emit, context);
    }
    report(context);
    updates_.finish(emit, context);
  }

 private:
  // Logs where events live as soon as this is more than one place, or the disk.
  void report(Context& context) {
    context.report("events_kept", store_.in_words());
    const int worth_saying = store_.worth_saying();
    if (worth_saying <= said_) return;
    said_ = worth_saying;
    context.log().info(fmt::format("events are kept where there is room: {}", store_.in_words()));
  }

  Params p_;
  EventStore store_;
  SubsetCutter cutter_;
  int said_ = 1;                 // the last worth_saying that was logged
  SubsetData data_;              // of the subsets that the cutter ends
  std::optional<bool> delayed_;  // whether the events are delayeds
  OfflineUpdates<EventBatch> updates_;
  WholeStream waiting_;  // where the whole stream is cut at its end
};

TOFSTREAM_GADGET(SubsetBuilder, "subset_builder",
                 "Groups sorted events into subsets in time order and replays them for each iteration");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
