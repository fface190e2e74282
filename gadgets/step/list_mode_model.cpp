// The system model of list-mode events: see list_mode_model.hpp.
#include "gadgets/step/list_mode_model.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/muted_log.hpp"
#include "gadgets/io/wire/packed_data.hpp"
#include "gadgets/step/rank_watch.hpp"
#include "gadgets/step/step-inl.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/project/accumulate.hpp"
#include "kernels/project/spread/spread_projector.hpp"

namespace tofstream {

template class Step<EventBatch>;

namespace {

// Which slices at the ends of the axis a scanner hardly sees, in words; empty where it sees all. They stay in the
// image, since without them their activity would be ascribed to their neighbours.
std::string noisy_ends(const Image& sensitivity) {
  constexpr float hardly = 0.05f;
  const Grid& grid = sensitivity.grid;
  const int slices = grid.size[2];
  if (grid.has_blobs() || slices < 3) return "";
  const auto on_axis = [&](int k) { return sensitivity.voxels[grid.index(grid.size[0] / 2, grid.size[1] / 2, k)]; };
  const float middle = on_axis(slices / 2);
  int first = 0, last = slices - 1;
  while (first < slices / 2 && on_axis(first) < hardly * middle) ++first;
  while (last > slices / 2 && on_axis(last) < hardly * middle) --last;
  if (first == 0 && last == slices - 1) return "";
  return fmt::format(
      "the image is noisy in the outermost slices ({} of {}): the scanner has less than {:g} % of its central "
      "sensitivity there, {:.1g} % at the very end",
      first + slices - 1 - last, slices, 100 * hardly, 100 * std::min(on_axis(0), on_axis(slices - 1)) / middle);
}

// What to say of a chosen grid with larger voxels than the crystals ask for; empty for others.
std::string was_enlarged(const Grid& grid, const Scanner& scanner, const Estimate& estimate) {
  const float usual = usual_voxel_mm(detector_pitch_mm(scanner), grid.has_blobs());
  if (estimate.wish->voxel_mm || !(grid.voxel_mm.x > usual)) return "";
  return fmt::format("; its voxels are larger than the usual {:g} mm, so that there are at most {}", usual,
                     most_chosen_voxels);
}

// The estimate's grid or, where the scanner decides, one that holds its field of view.
Grid grid_for(const EventSubset& first, const Estimate& estimate, const Scanner& scanner, Context& context) {
  const Grid grid = estimate.wish ? choose_grid(scanner, *estimate.wish) : estimate.image->grid;
  context.report("image", grid_in_words(grid));
  if (!estimate.wish) return grid;
  if (!estimate.image && !first.batches.empty())
    throw std::runtime_error(
        fmt::format("the gadget before this one gives a subset before it names a scanner, too late to choose the "
                    "image's grid: write image: {}",
                    grid_in_words(grid)));
  if (estimate.image && !(estimate.image->grid == grid))
    throw std::runtime_error(
        fmt::format("the checkpoint's image is {}, and for this scanner and `image` it would be {}",
                    grid_in_words(estimate.image->grid), grid_in_words(grid)));
  const Vec3 field = field_of_view(scanner).edges_mm;
  context.log().info(fmt::format("the image that holds the scanner's field of view, {:.0f} x {:.0f} x {:.0f} mm: {}{}",
                                 field.x, field.y, field.z, grid_in_words(grid),
                                 was_enlarged(grid, scanner, estimate)));
  return grid;
}

std::string what_would_hold_them(const Grid& grid, const Scanner& scanner) {
  const GridWish wish{.voxel_mm = grid.voxel_mm, .blobs = grid.has_blobs(), .blob_alpha = grid.blob.alpha};
  try {
    return fmt::format(
        "activity outside the image falsifies the image: write image: auto, or image: {}, which holds the scanner's "
        "field of view",
        grid_in_words(choose_grid(scanner, wish)));
  } catch (const std::invalid_argument&) {  // the voxels are too small
    return "write image: auto, which holds the scanner's field of view; lengths are in mm";
  }
}

// Terms that go with events' ToF bins are no terms of their whole lines.
void require_whole_lines(const EventBatch& batch) {
  if (!batch.tof_mm.empty())
    throw std::runtime_error(
        "the events' randoms and scatter are those of ToF bins, and the projector has tof: false: write it at the "
        "pipeline's top, so that they become those of whole lines");
}

class ListModeModel final : public SystemModel<EventBatch> {
 public:
  explicit ListModeModel(ListModeSettings settings) : settings_(std::move(settings)) {}

  void share_among(int ranks) override { ranks_ = ranks; }

  void prepare(const EventSubset& first, const Estimate& estimate, Context& context) override {
    const EventBatch* sample = first.sample();
    scanner_ = sample ? sample->scanner : nullptr;
    if (!scanner_)
      throw std::runtime_error(
          "the events do not say which scanner recorded them, so there is no sensitivity: "
          "take them from a decoder or the simulator");
    const Backend backend = settings_.backend;
    projector_ = make_projector(grid_for(first, estimate, *scanner_, context), context);
    context.report("backend", std::string(backend == Backend::cuda ? "cuda" : "cpu"));
    conditions_ = first.conditions;
    waits_for_conditions_ =
        first.announced && !conditions_of(*first.announced).is_empty() && first.conditions.is_empty();
    if (!waits_for_conditions_) return make_sensitivity(context);
    // Nothing is divided by it before the first subset comes, which says the mean over the scan.
    sensitivity_ = std::make_shared<const Image>(Image::zeros(projector_->grid(), memory_of(backend)));
  }

  void renew(const EventSubset& subset, Context& context) override {
    if (subset.batches.empty()) return;
    compare_with_events(subset, context);
    const bool is_live_same = rms_difference(subset.conditions.live.get(), conditions_.live.get()) == 0;
    const bool is_place_same = share_elsewhere(subset.conditions.poses.get(), conditions_.poses.get()) == 0;
    conditions_ = subset.conditions;
    if (is_live_same && is_place_same && !waits_for_conditions_) return;
    if (!std::exchange(waits_for_conditions_, false))
      context.log().info(fmt::format("{} have changed: the sensitivity is made anew",
                                     is_place_same ? "live fractions of pairs of modules" : "the scanner's poses"));
    make_sensitivity(context);
  }

  ListModeProjector& projector() override { return *projector_; }

  std::unique_ptr<Projector<EventView>> another_projector(Context& context) const override {
    return make_projector(projector_->grid(), context);
  }

  EventView view(const EventBatch& batch, Buffer<float>& /*room*/) const override {
    return list_mode_view(batch, settings_.tof);
  }

  void pack_geometry(wire::PackWriter& to) const override { wire::pack(to, *scanner_); }

  SubsetSensitivity sensitivity(const EventSubset& subset) override { return {sensitivity_, subset.time_fraction}; }

  void correct(const Image& estimate, Image& back_projection) override {
    if (correct_) correct_(*sensitivity_, estimate, back_projection);
  }

  std::shared_ptr<const Quantity> quantity(const EventSubset& subset, const NamedCorrection* by_terms,
                                           Context& context) override {
    if (by_terms && !settings_.tof)
      for (const auto& batch : subset.batches) require_whole_lines(*batch);
    return quantity_.of(subset.quantity, by_terms, context);
  }

  Modality modality() const override { return Modality::pet; }
  DataWords words() const override { return {"events", "no expectation: the line misses the image"}; }

  Missed missed() const override {
    const Grid& grid = projector_->grid();
    if (!holds_field_of_view(grid, *scanner_)) return {what_would_hold_them(grid, *scanner_), false};
    return {
        "the image holds the scanner's field of view, so these come from outside it (randoms, scatter, activity beside "
        "it)",
        true};
  }

 private:
  std::unique_ptr<ListModeProjector> make_projector(const Grid& grid, Context& context) const {
    return spread_where_asked(settings_.projector(grid, settings_.backend, *scanner_, context), scanner_);
  }

  // A sum over lines drawn at random has noise like that of as many events, and at each update the same.
  void compare_with_events(const EventSubset& subset, Context& context) {
    constexpr double worth_a_warning = 0.25;
    if (std::exchange(frame_, subset.step.frame.number) != subset.step.frame.number) events_ = 0;
    events_ += static_cast<double>(subset.event_count());
    if (random_lines_ == 0 || events_ < worth_a_warning * random_lines_ || std::exchange(has_told_of_lines_, true))
      return;
    const std::string line = fmt::format(
        "the sensitivity is as even as the sum of {:.2g} lines drawn at random, less than four for each event: the "
        "image has its noise too, the same in every scan; take more pairs (sensitivity.exact_pairs, sampled_pairs, "
        "error)",
        random_lines_);
    context.report("few_lines", line);
    context.log().warning(line);
  }

  // By the scanner, with the live fractions' pattern and the poses.
  void make_sensitivity(Context& context) {
    std::shared_ptr<const Scanner> seen = scanner_;
    if (!conditions_.is_empty()) {
      auto with_conditions = std::make_shared<Scanner>(*scanner_);
      with_conditions->live = conditions_.live;
      with_conditions->poses = conditions_.poses;
      seen = std::move(with_conditions);
    }
    if (conditions_.live) context.report("sensitivities_of_live_fractions", ++patterns_);
    if (conditions_.poses) {
      context.report("poses", static_cast<std::int64_t>(conditions_.poses->size()));
      context.report("sensitivities_of_poses", ++placings_);
    }
    const ProjectorRanks projectors(
        *projector_, ranks_,
        [&] {
          const MutedLog said_already;
          return make_projector(projector_->grid(), context);
        },
        [&context](std::future<void>& working, int rank, std::chrono::steady_clock::duration patience) {
          wait_for_rank(
              working, RankProgress(), [patience] { return patience; },
              fmt::format("rank {}, at the sensitivity", rank), context);
        });
    ListModeSensitivity made = settings_.sensitivity(*seen, projectors, context);
    if (const std::string line = noisy_ends(made.image); !line.empty()) {
      context.report("noisy_ends", line);
      context.log().info(line);
    }
    quantity_.set(std::move(made.holds),
                  "the pipelines corrected_osem and quantitative_osem show how: tofstream docs corrections");
    correct_ = std::move(made.correct);
    random_lines_ = made.random_lines;
    const Memory memory = memory_of(settings_.backend);
    sensitivity_ = std::make_shared<const Image>(on_host(memory) ? std::move(made.image) : made.image.to(memory));
    synchronize(nullptr);
  }

  ListModeSettings settings_;
  int ranks_ = 1;
  std::unique_ptr<ListModeProjector> projector_;
  std::shared_ptr<const Scanner> scanner_;
  std::shared_ptr<const Image> sensitivity_;
  Conditions conditions_;  // that the sensitivity has
  bool waits_for_conditions_ = false;
  std::int64_t patterns_ = 0, placings_ = 0;
  double random_lines_ = 0;  // as ListModeSensitivity has them
  double events_ = 0;        // of the frame so far
  int frame_ = 0;
  bool has_told_of_lines_ = false;
  std::function<void(const Image&, const Image&, Image&)> correct_;
  ImageQuantity quantity_;
};

}  // namespace

EventView list_mode_view(const EventBatch& batch, bool uses_tof) {
  EventView events = batch.view();
  if (uses_tof || batch.tof_mm.empty()) return events;
  if (!batch.additive.empty()) require_whole_lines(batch);
  events.tof_mm = nullptr;
  return events;
}

std::size_t cpu_projector_bytes(std::size_t image, bool deterministic, std::size_t copies) {
  constexpr std::int64_t events_a_call = 1 << 20;  // or more: batches, and the pairs of a sensitivity
  const auto voxels = static_cast<std::int64_t>(image / sizeof(float));
  return memory_sum(memory_product(copies, image),
                    static_cast<std::size_t>(SlotImages::bytes(voxels, deterministic, events_a_call)));
}

std::unique_ptr<SystemModel<EventBatch>> list_mode_model(ListModeSettings settings) {
  return std::make_unique<ListModeModel>(std::move(settings));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
