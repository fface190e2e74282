// The subsets of an offline reconstruction of views: all views of a scan, dealt out to groups that each cover the
// circle, and sent by the rule of offline_updates.hpp.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/view_groups.hpp"
#include "gadgets/subset/view_intake.hpp"
#include "gadgets/subset/view_store.hpp"
#include "gadgets/views.hpp"
#include "kernels/types/join_views.hpp"

namespace tofstream {
namespace {

constexpr auto* views_on_device_words =
    "GPU memory to leave free besides eight images; further views stay in host memory, from which they are copied for "
    "each pass";
constexpr auto* pass_rule_of_views_words =
    "How subsets follow one another in a pass: sequential, farthest, golden, herman_meyer or random, as `order` of "
    "subset_builder; none: golden for histo-images, farthest for a camera's views";
constexpr auto* views_on_host_words = "Host memory to leave free; further views go to disk";
constexpr auto* views_on_disk_words =
    "Where views go on disk, until the run ends; none: the system's folder for temporary files (TMPDIR)";
constexpr auto* stores_views_note =
    "holds all views of the scan, 4 B a pixel, and as much again for efficiencies, randoms and scatter each: on a GPU "
    "as many as device_reserve_gib leaves room for, else on the host as host_reserve_gib, else on disk";

struct ViewSubsets {
  struct Params {
    int subsets = 8;
    int iterations = 1;
    std::optional<PassRule> order;
    std::int64_t seed = 1;
    double reference_s = 1;
    BackendChoice backend = BackendChoice::automatic;
    double device_reserve_gib = 4;
    double host_reserve_gib = 4;
    std::filesystem::path spill_folder;
    std::filesystem::path resume_from;
    ImageParams image;
  };
  static constexpr auto params = describe(
      param<&Params::subsets>("subsets", range(1, 1000),
                              "Groups of views, an update each: every K-th view by angle, so that each covers the "
                              "circle; 1 is MLEM"),
      param<&Params::iterations>("iterations", range(1, 10000), "Passes over all groups"),
      param<&Params::order>("order", pass_rule_of_views_words),
      param<&Params::seed>("seed", at_least(0), pass_seed_words),
      param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"), reference_s_of_views_words),
      param<&Params::backend>("backend", "Where the views will be projected"),
      param<&Params::device_reserve_gib>("device_reserve_gib", at_least(0), unit("GiB"), views_on_device_words),
      param<&Params::host_reserve_gib>("host_reserve_gib", at_least(0), unit("GiB"), views_on_host_words),
      param<&Params::spill_folder>("spill_folder", spilling_is_operators, views_on_disk_words),
      param<&Params::resume_from>("resume_from", resume_offline_words),
      param<&Params::image>("image", "The image, for which room is left on the GPU"));
  static MemoryNeed memory(const Params& p) {
    return {.gives_on_device = wants_cuda(p.backend),
            .room_on_device = wants_cuda(p.backend),
            .keeps_inputs = true,
            .note = stores_views_note};
  }
  static constexpr bool own_thread = true;  // emits every iteration from flush, held back by the edge
  static constexpr bool harmless = true;

  explicit ViewSubsets(const Params& p)
      : p_(p),
        store_(store_settings(p)),
        intake_(p.reference_s),
        updates_({.iterations = p.iterations, .resumed = checkpoint_step(p.resume_from)},
                 [this] { return intake_.quantity(); }) {}

  void process(std::shared_ptr<const ViewBatch> views, Emit<ViewSubset>& emit, Context& context) {
    const auto taken = intake_.take(*views, context);
    if (!taken) return;
    if (groups_.empty()) {
      groups_ = view_groups(*taken->set, p_.subsets);
      updates_.set_order({p_.order.value_or(usual_order(*taken->set)), p_.seed});
      if (!sensitivity_waits()) updates_.announce(intake_.announcement(), emit, context);
    }
    for (auto& view : single_views(*taken)) {
      views_.push_back(store_.hold(std::move(view)));
      came_.push_back(context.message());
    }
  }

  void flush(Emit<ViewSubset>& emit, Context& context) {
    if (groups_.empty()) return;
    intake_.require_all(context);
    if (sensitivity_waits()) updates_.announce(store_.hold(announcement_of_all()), emit, context);
    std::vector<Group> groups = groups_with_views();
    std::vector<int> numbers;
    for (const Group& group : groups) numbers.push_back(group.number);
    updates_.expect(p_.subsets, std::move(numbers));
    for (Group& group : groups) {
      updates_.arrive({.batches = store_.store(std::move(group.views))}, group.data, emit, context);
      report(context);
    }
    views_.clear();
    updates_.finish(emit, context);
  }

 private:
  // Until all views have come.
  bool sensitivity_waits() const { return intake_.set()->has_own_efficiencies(); }

  ViewBatch announcement_of_all() const {
    std::vector<ViewBatch> all;
    for (const ViewBatch& view : views_) {
      if (view.multiplicative.empty()) return intake_.announcement();
      ViewBatch& without_counts = all.emplace_back(view.without_arrays());
      for_each_record_array_pair(without_counts, view, [](auto& to, const auto& from) { to = from.to(Memory::host); });
      without_counts.multiplicative = view.multiplicative.to(Memory::host);
    }
    if (all.empty()) return intake_.announcement();
    std::vector<const ViewBatch*> pointers;
    for (const ViewBatch& view : all) pointers.push_back(&view);
    return join_views(pointers, Memory::host);
  }

  struct Group {
    int number = 0;
    std::vector<ViewBatch> views;
    MessageInfo data;  // of the first view to the last one
  };

  // Takes the views.
  std::vector<Group> groups_with_views() {
    std::vector<Group> groups;
    for (int number = 0; number < p_.subsets; ++number) {
      Group group{.number = number, .views = {}, .data = {}};
      for (std::size_t v = 0; v < views_.size(); ++v) {
        if (views_[v].records.empty() || groups_[static_cast<std::size_t>(views_[v].records.front().view)] != number)
          continue;
        group.data = group.views.empty() ? came_[v] : data_between(group.data, came_[v]);
        group.views.push_back(std::move(views_[v]));
      }
      if (!group.views.empty()) groups.push_back(std::move(group));
    }
    return groups;
  }

  // Logs where views live as soon as this is more than one place, or the disk.
  void report(Context& context) {
    context.report("views_kept", store_.in_words());
    if (store_.worth_saying() <= said_) return;
    said_ = store_.worth_saying();
    context.log().info(fmt::format("views are kept where there is room: {}", store_.in_words()));
  }

  Params p_;
  ViewStore store_;
  int said_ = 1;  // the last worth_saying() that was logged
  ViewIntake intake_;
  std::vector<int> groups_;  // of each view of the set
  std::vector<ViewBatch> views_;
  std::vector<MessageInfo> came_;  // with which message each view came
  OfflineUpdates<ViewBatch> updates_;
};

TOFSTREAM_GADGET(ViewSubsets, "view_subsets",
                 "Groups the views of a whole scan into subsets that each cover the circle, and replays them for each "
                 "iteration");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
