// One subset through a projector: see list_mode_step.hpp.
#include "gadgets/step/list_mode_step.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/sensitivity_cache.hpp"
#include "kernels/analysis/inner_product.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/ring/sensitivity/sample_bias.hpp"

namespace tofstream {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

std::filesystem::path user_cache_folder() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "tofstream";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "tofstream";
  return std::filesystem::temp_directory_path() / "tofstream-cache";
}

// From the chance that a decay in a voxel is recorded to events per second of 1 Bq/mL in it, as the sum over pairs of
// detectors gives them.
void scale_to_Bq_per_mL(Image& sensitivity) {
  constexpr float mL_per_mm3 = 1e-3f;
  const float mL = mL_per_mm3 * sensitivity.grid.voxel_volume();
  for (float& value : sensitivity.voxels.span()) value *= mL;
}

// Which slices at the ends of the axis a scanner hardly sees, in words; empty where it sees all. They stay in the
// image: left out, what lies there would be ascribed to their neighbours.
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

// Says it where a chosen grid has larger voxels than the crystals ask for.
std::string was_enlarged(const Grid& grid, const Scanner& scanner, const Estimate& estimate) {
  const float usual = usual_voxel_mm(detector_pitch_mm(scanner), grid.has_blobs());
  if (estimate.wish->voxel_mm || !(grid.voxel_mm.x > usual)) return "";
  return fmt::format("; its voxels are larger than the usual {:g} mm, so that there are at most {}", usual,
                     most_chosen_voxels);
}

}  // namespace

ListModeStep::ListModeStep(ListModeSettings settings, Make make)
    : settings_(std::move(settings)), make_(std::move(make)) {}

Projected ListModeStep::operator()(const ProjectorInputs& inputs, Context& context) {
  if (!projector_) prepare(inputs, context);
  const Memory memory = memory_of(settings_.backend);
  Image back = Image::zeros(projector_->grid(), memory);
  EmTally tally, tally_of_new;
  const auto& batches = inputs.events->batches;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto& batch = batches[i];
    const auto asked = Clock::now();
    const auto turn = context.take_turn();  // a batch at a time, so that a run of large subsets holds up no other
    waiting_for_turn_s_ += seconds_since(asked);
    const Prepared& prepared = prepare_batch(batch, context);
    if (i >= inputs.events->first_new() && lacks_plan(*batch, prepared)) ++without_plan_;
    begin_next_copy(*inputs.events, i + 1);
    EventView events = prepared.view();
    if (!settings_.tof) events.tof_mm = nullptr;
    const auto began = Clock::now();
    const EmTally of_batch = projector_->planned_em_step(prepared.plan.get(), events,
                                                         inputs.image->image->voxels.data(), back.voxels.data());
    tally += of_batch;
    if (i >= inputs.events->first_new()) tally_of_new += of_batch;
    // The step returns when its sums have come back from the GPU.
    if (!on_host(memory)) context.span("GPU", "em_step", began, Clock::now());
    projecting_s_ += seconds_since(began);
    if (inputs.events->step.iteration == inputs.events->step.iterations) prepared_.erase(batch.get());
  }
  note_new(tally_of_new, inputs, context);
  if (!noise_.empty() && !batches.empty()) remove_sample_bias(noise_, *sensitivity_, *inputs.image->image, back);
  Projected projected{inputs.events->step,
                      std::make_shared<const Image>(std::move(back)),
                      sensitivity_,
                      inputs.events->time_fraction,
                      tally,
                      quantity_.of(inputs.events->quantity, context)};
  if (inputs.events->step.iteration > 0 || inputs.events->step.restart)
    report(projected, *inputs.image->image, context);
  return projected;
}

void ListModeStep::finish() const {
  if (all_new_.used == 0 && all_new_.skipped > 0)
    throw std::runtime_error(fmt::format("nothing was reconstructed: all {} events miss the image, {}; {}",
                                         all_new_.skipped, grid_in_words(projector_->grid()), what_would_hold_them()));
}

void ListModeStep::note_new(const EmTally& tally, const ProjectorInputs& inputs, Context& context) {
  context.books().reconstructed(static_cast<std::uint64_t>(tally.used));
  if (tally.skipped > 0)
    context.books().rejected(static_cast<std::uint64_t>(tally.skipped), "no expectation: the line misses the image");
  all_new_ += tally;
  const UpdateStep& step = inputs.events->step;
  // The start image is positive everywhere; later a line may also meet nothing but zeros.
  if (inputs.image->step.iteration == 0) warn_of_missed(tally, context);
  if (step.iteration == 1 && step.ends_iteration) finish();
}

void ListModeStep::warn_of_missed(const EmTally& first, Context& context) const {
  constexpr double worth_a_warning = 0.01;
  const std::int64_t all = first.used + first.skipped;
  if (first.skipped == 0 || static_cast<double>(first.skipped) < worth_a_warning * static_cast<double>(all)) return;
  const std::string line =
      fmt::format("{} of the first {} events ({:.1f} %) miss the image; {}", first.skipped, all,
                  100 * static_cast<double>(first.skipped) / static_cast<double>(all), what_would_hold_them());
  context.report("missed", line);
  if (holds_field_of_view(projector_->grid(), *scanner_))
    context.log().info(line);
  else
    context.log().warning(line);
}

std::string ListModeStep::what_would_hold_them() const {
  const Grid& grid = projector_->grid();
  if (holds_field_of_view(grid, *scanner_))
    return "it holds the scanner's field of view, so they do not come from what lies there (randoms, scatter, activity "
           "beside it)";
  const GridWish wish{.voxel_mm = grid.voxel_mm, .blobs = grid.has_blobs(), .blob_alpha = grid.blob.alpha};
  try {
    return fmt::format(
        "what lies outside falsifies the image inside: write image: auto, or image: {}, which holds the "
        "scanner's field of view",
        grid_in_words(choose_grid(*scanner_, wish)));
  } catch (const std::invalid_argument&) {  // so small are the voxels
    return "write image: auto, which holds the scanner's field of view; lengths are in mm";
  }
}

// On a GPU what is prepared is kept for the iterations to come, while there is room for as much again. Events that lie
// on the host had no room: they come for each pass, and their plan goes with it.
const ListModeStep::Prepared& ListModeStep::prepare_batch(const std::shared_ptr<const EventBatch>& batch,
                                                          Context& context) {
  if (const auto known = prepared_.find(batch.get()); known != prepared_.end()) return known->second;
  std::erase_if(prepared_,
                [](const auto& each) { return each.second.batch.use_count() == 1; });  // nobody sends it again
  const Memory memory = memory_of(settings_.backend);
  unkept_ = {};
  Prepared prepared{batch, {}, nullptr};
  if (!on_host(memory) && on_host(batch->memory())) {
    prepared.copy = feed_.take(batch);
    return unkept_ = std::move(prepared);
  }
  if (on_host(memory) && !on_host(batch->memory())) prepared.copy = batch->to(memory);
  EventView events = prepared.view();
  if (!settings_.tof) events.tof_mm = nullptr;
  const auto began = Clock::now();
  prepared.plan = projector_->plan(events);
  if (!on_host(memory)) context.span("GPU", "plan", began, Clock::now());
  planning_s_ += seconds_since(began);
  constexpr std::size_t reserve = std::size_t{1} << 30;  // for images and a pass
  if (on_host(memory) || free_device_bytes() < prepared.bytes() + reserve) return unkept_ = std::move(prepared);
  return prepared_.emplace(batch.get(), std::move(prepared)).first->second;
}

// Whether the projector would not plan a batch that was to have a plan. What lies on the host is planned in each pass.
bool ListModeStep::lacks_plan(const EventBatch& batch, const Prepared& prepared) const {
  const bool expected = settings_.backend == Backend::cuda && !on_host(batch.memory()) && settings_.planned_from > 0 &&
                        batch.count >= settings_.planned_from;
  return expected && !prepared.plan;
}

// While a batch is projected on the GPU, the next one that lies on the host comes; at the end of a subset, that of the
// next subset.
void ListModeStep::begin_next_copy(const Subset& subset, std::size_t from) {
  if (settings_.backend != Backend::cuda) return;
  for (std::size_t i = from; i < subset.batches.size(); ++i)
    if (on_host(subset.batches[i]->memory())) return feed_.begin(subset.batches[i]);
  feed_.begin(subset.next_batch);
}

void ListModeStep::prepare(const ProjectorInputs& inputs, Context& context) {
  const Subset& subset = *inputs.events;
  const auto& scanner = subset.scanner ? subset.scanner : subset.batches.front()->scanner;
  if (!scanner)
    throw std::runtime_error(
        "the events do not say which scanner recorded them, so there is no sensitivity: "
        "take them from a decoder or the simulator");
  scanner_ = scanner;
  projector_ = make_(grid_for(inputs, *scanner, context), settings_.backend, *scanner, context);
  Sensitivity made = make_sensitivity(*scanner, context);
  context.report("backend", std::string(settings_.backend == Backend::cuda ? "cuda" : "cpu"));
  context.report("sensitivity_exact", made.exact);
  if (made.pairs > 0) context.report("sensitivity_pairs", made.pairs);
  context.report("sensitivity_relative_error", made.relative_error);
  if (!made.exact) report_sample(made, sample_settings().error, context);
  if (const std::string line = noisy_ends(made.image); !line.empty()) {
    context.report("noisy_ends", line);
    context.log().info(line);
  }
  const auto at_projector = [&](Image& image) {
    const Memory memory = memory_of(settings_.backend);
    return on_host(memory) ? std::move(image) : image.to(memory);
  };
  sensitivity_ = std::make_shared<const Image>(at_projector(made.image));
  if (!made.noise.empty())
    noise_ = {at_projector(made.noise.held_out), at_projector(made.noise.variance), made.noise.undrawn};
  synchronize(nullptr);
}

std::optional<Image> ListModeStep::read_attenuation(Context& context) {
  SensitivityHolds holds{.attenuation = {.gadget = context.name()}};
  std::optional<Image> mu;
  if (!settings_.mu_map.empty()) {
    mu = read_mu_map(settings_.mu_map);
    holds.attenuation.mu_map = settings_.mu_map.string();
    holds.attenuation.checksum = checksum_of_mu_map(*mu);
  }
  quantity_.set(std::move(holds));
  return mu;
}

SensitivitySettings ListModeStep::sample_settings() const {
  SensitivitySettings settings = default_sensitivity(settings_.backend);
  settings.exact_pairs = settings_.sensitivity.exact_pairs;
  settings.sampled_pairs = settings_.sensitivity.sampled_pairs;
  if (settings_.sensitivity.error > 0) settings.error = settings_.sensitivity.error;
  return settings;
}

// A sample's error goes into the image.
void ListModeStep::report_sample(const Sensitivity& sampled, double error, Context& context) const {
  context.report("sensitivity_error_asked", error);
  context.report("sensitivity_drawn", sampled.drawn);
  context.report("sensitivity_symmetries", std::int64_t{sampled.symmetries});
  std::string line = fmt::format("sensitivity from {} of {} detector pairs, relative error {:.2g} of a voxel",
                                 sampled.drawn, sampled.pairs, sampled.relative_error);
  if (sampled.symmetries > 1) line += fmt::format(", averaged over {} symmetries", sampled.symmetries);
  if (sampled.relative_error <= error) return context.log().info(line);
  context.log().warning(line + fmt::format(": not the {:.2g} that was asked for; draw more (sensitivity.sampled_pairs: "
                                           "{:.2g}), or take larger voxels",
                                           error,
                                           static_cast<double>(sampled.drawn) * sampled.relative_error *
                                               sampled.relative_error / (error * error)));
}

// That of the estimate, or where the scanner decides the one that holds its field of view.
Grid ListModeStep::grid_for(const ProjectorInputs& inputs, const Scanner& scanner, Context& context) const {
  const Estimate& estimate = *inputs.image;
  const Grid grid = estimate.wish ? choose_grid(scanner, *estimate.wish) : estimate.image->grid;
  context.report("image", grid_in_words(grid));
  if (!estimate.wish) return grid;
  if (!estimate.image && !inputs.events->batches.empty())
    throw std::runtime_error(
        fmt::format("the gadget before names no scanner ahead of its first subset, so it is too late to choose the "
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

Sensitivity ListModeStep::make_sensitivity(const Scanner& scanner, Context& context) {
  if (auto closed_form = projector_->closed_form_sensitivity()) {
    if (settings_.uniform) std::ranges::fill(closed_form->voxels.span(), 1.0f);
    quantity_.set({.attenuation = {.gadget = context.name()}, .is_left_out = settings_.uniform});
    scale_to_Bq_per_mL(*closed_form);
    return {.image = std::move(*closed_form)};
  }
  const SensitivitySettings settings = sample_settings();
  const std::optional<Image> mu = read_attenuation(context);
  const Image* mu_image = mu ? &*mu : nullptr;
  const auto compute = [&] {
    context.log().info("computing the sensitivity image");
    std::optional<Turns::Turn> turn(context.take_turn());
    return compute_sensitivity(scanner, *projector_, settings, mu_image, nullptr, [&](double done) {
      context.progress(done, 1, "of the sensitivity");
      turn.reset();  // others project between two batches of pairs
      turn.emplace(context.take_turn());
    });
  };
  if (!settings_.sensitivity.cache) return compute();
  const std::string key = sensitivity_key(scanner, projector_->grid(), settings_.description, settings, mu_image);
  return SensitivityCache(user_cache_folder() / "sensitivity").get(key, compute, [&](const std::string& line) {
    context.log().warning(line);
  });
}

// The log-likelihood sum_i log(expectation_i) - sum_j s_j x_j, complete when an iteration's last subset has been
// projected. With one subset it is that of one image; with more, each term is of the estimate its subset met.
void ListModeStep::report(const Projected& projected, const Image& estimate, Context& context) {
  const UpdateStep& step = projected.step;
  context.progress(
      step.subsets > 0 ? (step.iteration - 1) * step.subsets + step.subset + 1 : static_cast<double>(step.update),
      step.subsets * step.iterations, "updates");
  context.report("planning_s", planning_s_);
  context.report("projecting_s", projecting_s_);
  if (constexpr double worth_telling_s = 0.001; waiting_for_turn_s_ > worth_telling_s)
    context.report("waiting_for_turn_s", waiting_for_turn_s_);
  if (without_plan_ > 0) context.report("without_plan", without_plan_);
  if (feed_.copied_bytes() > 0) {
    context.report("copied_to_gpu_gib", static_cast<double>(feed_.copied_bytes()) / 1073741824.0);
    context.report("copying_to_gpu_s", feed_.copy_seconds());
  }
  if (!settings_.log_likelihood) return;
  EmTally& sum = iteration_;
  if (step.restart) sum = {};
  if (step.restart || step.subsets == 0) return;  // of a live stream there are no whole iterations
  sum += projected.tally;
  sum.log_sum -= inner_product(*sensitivity_, estimate) * projected.time_fraction;
  if (!step.ends_iteration) return;
  context.append("log_likelihood", sum.log_sum);
  sum = {};
}

}  // namespace tofstream
