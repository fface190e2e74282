// The subsets of a live list-mode reconstruction: cut from the stream of sorted events as they come, and sent out by
// the rule of live_updates.hpp.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/live_updates-inl.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/subset_cutter.hpp"

namespace tofstream {
namespace {

struct LiveSubsets {
  struct Params : LiveParams<EventStoreParams> {
    double seconds = 0;
    std::int64_t events = 0;
    std::int64_t least_events = 0;
    int iterations = 3;
    int window = 16;
    PassRule final_order = PassRule::sequential;
    double reference_s = 1;
  };
  static constexpr auto params =
      describe(
          param<&Params::seconds>("seconds", at_least(0), unit("s"),
                                  "A subset as soon as this much scan time has come"),
          param<&Params::events>("events", at_least(0), "Or: as soon as this many events have come"),
          param<&Params::least_events>("least_events", at_least(0), least_events_words),
          param<&Params::iterations>("iterations", range(1, 10000),
                                     "Updates with each subset; once all have had them, the projector stays idle"),
          param<&Params::window>("window", range(1, 100000), "How many of the latest subsets take turns in idle time"),
          param<&Params::final_order>("final_order", final_order_words),
          param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"),
                                      "Length of scan time whose decays the image counts: 1 makes it an activity")) +
      LiveParams<EventStoreParams>::params;
  static MemoryNeed memory(const Params& p) {
    return {.message_bytes = memory_product(static_cast<std::size_t>(p.events), event_bytes),
            .gives_on_device = wants_cuda(p.backend),
            .lower = "events",
            .note = keeps_events_note};
  }
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  LiveSubsets(const Params& p, Context& context)
      : store_(store_settings(p)),
        cutter_({p.events, p.seconds, p.least_events, p.reference_s}),
        updates_(
            live_settings(p), LiveOrder({p.iterations, p.window, p.least_events > 0}),
            [this] { return cutter_.quantity(); }, context) {
    if ((p.events > 0) + (p.seconds > 0) != 1) throw std::invalid_argument("set exactly one of events and seconds");
  }

  void process(EventBatch batch, Context& context) {
    if (batch.count > 0) require_one_kind(batch, delayed_);
    if (batch.scanner) {
      updates_.begin(conditions_of(batch));
      updates_.announce(announced_by(batch));
    }
    for (StoredEvents& subset : cutter_.take(std::move(batch), store_)) arrive(std::move(subset), context);
  }

  bool idle(Emit<EventSubset>& emit, Context& context) { return updates_.idle(emit, context); }

  void flush(Emit<EventSubset>& emit, Context& context) {
    if (auto rest = cutter_.finish(store_)) arrive(std::move(*rest), context);
    updates_.flush(emit, context);
    context.report("events_kept", store_.in_words());
  }

 private:
  void arrive(StoredEvents subset, Context& context) {
    updates_.arrive(std::move(subset), context);
    context.report("events_kept", store_.in_words());
  }

  EventStore store_;
  SubsetCutter cutter_;
  LiveUpdates<EventBatch> updates_;
  std::optional<bool> delayed_;  // whether the events are delayeds
};

TOFSTREAM_GADGET(LiveSubsets, "live_subsets",
                 "Groups sorted events into subsets as they come, and iterates over them while the projector is free");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
