// The subsets of a live reconstruction of views: each view is in the image as soon as it has come, with the views that
// look from other sides, by the rules of view_order.hpp and live_updates.hpp.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/subset/live_updates-inl.hpp"
#include "gadgets/subset/view_intake.hpp"
#include "gadgets/subset/view_order.hpp"
#include "gadgets/views.hpp"

namespace tofstream {
namespace {

struct LiveViews {
  struct Params {
    int subsets = 8;
    int least_views = 6;
    int iterations = 3;
    Final final = Final::converged;
    PassRule final_order = PassRule::farthest;
    std::int64_t seed = 1;
    double deadline_ms = 0;
    std::vector<Degrade> degrade = {Degrade::no_idle_iterations, Degrade::larger_subsets};
    std::filesystem::path order = update_log_name;
    std::filesystem::path follow;
    std::filesystem::path resume_from;
    double reference_s = 1;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::subsets>("subsets", range(1, 1000),
                              "Groups of the whole scan's views: every K-th by angle, so that each covers the circle"),
      param<&Params::least_views>("least_views", range(1, 10000),
                                  "Views in a group while the scan runs: until there are enough for `subsets` groups, "
                                  "there are fewer, which are larger"),
      param<&Params::iterations>("iterations", range(1, 10000),
                                 "Updates with each view; once all have had them, the projector stays idle"),
      param<&Params::final>("final",
                            "What follows the end of the scan. converged: the updates that views still lack; offline: "
                            "a reconstruction from the start image, as of a file; none: nothing"),
      param<&Params::final_order>("final_order", final_order_words),
      param<&Params::seed>("seed", at_least(0), pass_seed_words),
      param<&Params::deadline_ms>("deadline_ms", at_least(0), unit("ms"),
                                  "Longest time from a view to the estimate that includes it; 0: no deadline"),
      param<&Params::degrade>("degrade", "What to give up, step by step, while the deadline is not met"),
      param<&Params::order>("order", in_run_folder, order_words),
      param<&Params::follow>("follow", reads_file, follow_words),
      param<&Params::resume_from>("resume_from", resume_words),
      param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"), reference_s_of_views_words),
      param<&Params::backend>("backend", "Where the views will be projected"));
  static MemoryNeed memory(const Params& p) {
    return {.gives_on_device = wants_cuda(p.backend), .note = keeps_views_note};
  }
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  LiveViews(const Params& p, Context& context)
      : backend_(p.backend),
        intake_(p.reference_s),
        updates_(
            settings(p), ViewOrder({p.subsets, p.least_views, p.iterations}), [this] { return intake_.quantity(); },
            context, [this](Batches views) { return join(views); }) {}

  void process(std::shared_ptr<const ViewBatch> views, Context& context) {
    const auto taken = intake_.take(*views, context);
    if (intake_.set()) updates_.announce(intake_.announcement());
    if (!taken) return;
    for (ViewBatch& view : single_views(*taken))
      updates_.arrive({.batches = {std::make_shared<const ViewBatch>(std::move(view))}}, context);
  }

  bool idle(Emit<ViewSubset>& emit, Context& context) { return updates_.idle(emit, context); }

  void flush(Emit<ViewSubset>& emit, Context& context) {
    if (intake_.set()) intake_.require_all(context);
    updates_.flush(emit, context);
  }

 private:
  using Batches = std::vector<std::shared_ptr<const ViewBatch>>;

  static LiveSettings settings(const Params& p) {
    return {.iterations = p.iterations,
            .final = p.final,
            .deadline_ms = p.deadline_ms,
            .degrade = p.degrade,
            .order = p.order,
            .follow = p.follow,
            .resume_from = p.resume_from,
            .final_order = {p.final_order, p.seed}};
  }

  // One batch of many views keeps a GPU busy; a batch of each would not.
  Batches join(const Batches& views) const {
    std::vector<const ViewBatch*> all;
    for (const auto& view : views) all.push_back(view.get());
    return joined(all, memory_of(backend_));
  }

  GadgetBackend backend_;
  ViewIntake intake_;
  LiveUpdates<ViewBatch, ViewOrder> updates_;
};

TOFSTREAM_GADGET(LiveViews, "live_views",
                 "Groups views into subsets as they come, and iterates over them while the projector is free");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
