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

struct ViewBackendParams {
  BackendChoice backend = BackendChoice::automatic;
  static constexpr auto params =
      describe(param<&ViewBackendParams::backend>("backend", "Where the views will be projected"));
};

struct LiveViews {
  struct Params : LiveParams<ViewBackendParams> {
    int subsets = 8;
    int least_views = 6;
    int iterations = 3;
    PassRule final_order = PassRule::farthest;
    double reference_s = 1;
  };
  static constexpr auto params =
      describe(param<&Params::subsets>(
                   "subsets", range(1, 1000),
                   "Groups of the whole scan's views: every K-th by angle, so that each covers the circle"),
               param<&Params::least_views>(
                   "least_views", range(1, 10000),
                   "Views in a group while the scan runs: until there are enough for `subsets` groups, "
                   "there are fewer, which are larger"),
               param<&Params::iterations>("iterations", range(1, 10000),
                                          "Updates with each view; once all have had them, the projector stays idle"),
               param<&Params::final_order>("final_order", final_order_words),
               param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"), reference_s_of_views_words)) +
      LiveParams<ViewBackendParams>::params;
  static MemoryNeed memory(const Params& p) {
    return {.gives_on_device = wants_cuda(p.backend), .note = keeps_views_note};
  }
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  LiveViews(const Params& p, Context& context)
      : backend_(p.backend),
        intake_(p.reference_s),
        updates_(
            live_settings(p), ViewOrder({p.subsets, p.least_views, p.iterations}),
            [this] { return intake_.quantity(); }, context, [this](Batches views) { return join(views); }) {}

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
