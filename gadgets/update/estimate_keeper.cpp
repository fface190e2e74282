// What updates have in common: see estimate_keeper.hpp.
#include "gadgets/update/estimate_keeper.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/ranks/frame_groups.hpp"
#include "gadgets/update/estimate_checkpoint.hpp"
#include "gadgets/update/step_words.hpp"
#include "kernels/em/em_update.hpp"

namespace tofstream {
namespace {

void require_grid(const Grid& of_checkpoint, const Grid& wanted, const std::filesystem::path& folder) {
  if (of_checkpoint == wanted) return;
  throw std::runtime_error(
      fmt::format("the checkpoint in {} belongs to another image than `image` describes", folder.string()));
}

// What says that the update makes coefficients and not the image.
PostFilters filters_of(const Projected& projected) {
  if (projected.coefficients_of.empty()) return {};
  return {{.other = fmt::format("coefficients of {}, not the image", projected.coefficients_of)}};
}

}  // namespace

MemoryNeed UpdateParams::memory() const {
  MemoryNeed need = image_memory(backend, 2 * image.bytes(), image.bytes(), "image.size");
  need.is_limit = image.is_auto();
  need.note = "one image more for each subset with a sensitivity of its own, but no more than 128 MiB of them";
  return need;
}

EstimateKeeper::EstimateKeeper(const UpdateParams& settings, std::string algorithm)
    : algorithm_(std::move(algorithm)),
      resume_from_(settings.resume_from),
      start_value_(settings.start_value),
      backend_(settings.backend),
      rest_(settings.stop) {
  if (settings.image.is_auto()) {
    wish_ = settings.image.wish();
  } else {
    grid_ = settings.image.grid();
    validate_basis(grid_);
    const Buffer<float> room(Memory::host, grid_.voxels());  // fails at the start where there is no memory for it
  }
  if (!resume_from_.empty()) resume();
}

Estimate EstimateKeeper::begin() {
  if (image_) place();
  if (!image_ && !wish_) begin_on(grid_);
  return first(wish_);
}

Estimate EstimateKeeper::first(const std::optional<GridWish>& wish) const {
  return {.step = resumed_,
          .image = image_,
          .quantity = quantity_.get(),
          .wish = wish,
          .host_copy = host_copy_,
          .rejected = rejected_before_,
          .events = events_before_,
          .filters = {},
          .kept = kept_,
          .algorithm = algorithm_,
          .modality = modality_,
          .is_at_rest = rest_.is_at_rest()};
}

std::optional<Estimate> EstimateKeeper::without_update(const Projected& projected) {
  modality_ = projected.modality;
  has_begun_ = has_begun_ || projected.step.recalled || projected.step.restart;
  if (projected.step.recalled) return recalled(projected);
  if (projected.step.passed) return Estimate{.step = projected.step, .modality = modality_, .is_at_rest = true};
  if (projected.step.restart) {
    if (!projected.step.keeps_image) begin_on(grid_);
    quantity_ = resumed_quantity_ = {};
    kept_ = {};
    rest_.begin_anew();
    Estimate estimate{.step = projected.step, .image = image_, .modality = modality_};
    if (!projected.step.keeps_image) estimate.host_copy = host_copy_;
    return estimate;
  }
  if (projected.step.is_joint)
    throw std::runtime_error(
        "subsets come of all frames together, and this update makes an image of each: take parametric_update, or "
        "framing with together: false");
  if (projected.step.iteration > 0) return std::nullopt;
  if (!image_) begin_on(projected.back_projection->grid);
  return first();
}

std::shared_ptr<Image> EstimateKeeper::copy() const {
  return std::make_shared<Image>(image_->to(memory_of(backend_)));
}

Estimate EstimateKeeper::updated(std::shared_ptr<const Image> next, const Projected& projected, Context& context,
                                 std::map<std::string, double> kept) {
  require_resumable(projected.step);
  tell_of_resume(context);
  rest_.note(image_, next, projected.step, context);
  image_ = std::move(next);
  kept_ = std::move(kept);
  rest_.keep(kept_);
  // A projector says it of all data so far.
  quantity_ = resumed_quantity_;
  quantity_.add(projected.quantity);
  Estimate estimate{projected.step, image_, quantity_.get()};
  estimate.rejected = projected.rejected;
  estimate.rejected.events += rejected_before_.events;
  estimate.events = projected.events + events_before_;
  estimate.kept = kept_;
  estimate.algorithm = algorithm_;
  if ((estimate.is_at_rest = rest_.is_at_rest())) end(estimate.step);
  estimate.filters = filters_of(projected);
  estimate.modality = modality_ = projected.modality;
  rejected_here_ = projected.rejected;
  events_here_ = projected.events;
  if (const FrameGroups* groups = frame_groups(); groups && !groups->collects() && estimate.step.ends_frame())
    give(estimate);
  return estimate;
}

// To the process that collects, with the books of the frame alone.
void EstimateKeeper::give(const Estimate& estimate) {
  CheckpointStep step = checkpoint_step_of(estimate);
  step.events = events_here_ - events_given_;
  step.rejected.events = rejected_here_.events - rejected_given_.events;
  rejected_given_ = rejected_here_;
  events_given_ = events_here_;
  write_checkpoint(frame_groups()->image_of(estimate.step.frame.number), step, *on_host(estimate),
                   estimate.quantity.get());
}

// No update of the same image follows.
void EstimateKeeper::end(UpdateStep& step) {
  step.iterations = step.iteration;
  step.last = step.frame.number == step.frame.frames;
}

void EstimateKeeper::begin_on(const Grid& grid) {
  grid_ = grid;
  image_ = std::make_shared<const Image>(Image::filled(grid_, start_value_, memory_of(backend_)));
  host_copy_ = std::make_shared<HostCopy>();
}

void EstimateKeeper::resume() {
  auto checkpoint = read_checkpoint(resume_from_);
  if (!checkpoint) {
    has_frames_ = has_frame_checkpoints(resume_from_);
    return;
  }
  if (checkpoint->step.frame.number > 0)
    throw std::runtime_error(
        fmt::format("resume_from: {} is of one frame alone: give the folder in which it lies", resume_from_.string()));
  if (!wish_) require_grid(checkpoint->image.grid, grid_, resume_from_);
  resumed_ = {.iteration = checkpoint->step.iteration, .update = checkpoint->step.update};
  take(std::move(*checkpoint));
}

// What another group has made of a frame, counted on from here, or else a run before.
Checkpoint EstimateKeeper::checkpoint_of(const UpdateStep& step) {
  if (const FrameGroups* groups = frame_groups()) {
    const std::filesystem::path file = groups->image_of(step.frame.number);
    if (auto given = read_checkpoint(file)) {
      std::filesystem::remove(file);
      given->step.events += events_before_;
      given->step.rejected.events += rejected_before_.events;
      return std::move(*given);
    }
  }
  auto checkpoint = read_checkpoint(frame_checkpoint(resume_from_, step.frame.number));
  if (checkpoint) return std::move(*checkpoint);
  throw std::runtime_error(
      fmt::format("resume_from: frame {} is to come from a checkpoint, and there is none in '{}': set resume_from of "
                  "this gadget to the folder that the gadget before the projector has",
                  step.frame.number, resume_from_.string()));
}

// The image of a frame that is complete.
Estimate EstimateKeeper::recalled(const Projected& projected) {
  Checkpoint checkpoint = checkpoint_of(projected.step);
  if (image_) require_grid(checkpoint.image.grid, image_->grid, resume_from_);
  take(std::move(checkpoint));
  place();
  host_copy_ = std::make_shared<HostCopy>();
  Estimate estimate = first();
  estimate.events += events_here_;
  estimate.rejected.events += rejected_here_.events;
  if (estimate.rejected.reason.empty()) estimate.rejected.reason = rejected_here_.reason;
  estimate.step = projected.step;
  estimate.filters = filters_of(projected);
  return estimate;
}

// Those who give the subsets go on where this gadget does.
void EstimateKeeper::require_resumable(const UpdateStep& step) {
  if (step.frame.number == 0 && has_frames_)
    throw std::runtime_error(fmt::format(
        "resume_from: in {} lie checkpoints of frames, and this run has none: leave it out", resume_from_.string()));
  if (step.frame.number > 0 && is_resumed())
    throw std::runtime_error(
        fmt::format("resume_from: the checkpoint in {} is of a run without frames, and this one has some: leave it out",
                    resume_from_.string()));
  if (std::exchange(has_begun_, true) || step.update <= resumed_.update + 1) return;
  throw std::runtime_error(
      fmt::format("the first subset is of update {}, and this image is of update {}: set resume_from of this gadget to "
                  "the folder that the gadget before the projector has",
                  step.update, resumed_.update));
}

// A folder of another run, or one without a checkpoint, would else pass for the run that was to go on.
void EstimateKeeper::tell_of_resume(Context& context) {
  if (resume_from_.empty() || has_frames_ || std::exchange(has_told_, true)) return;
  if (!is_resumed())
    return context.log().warning(fmt::format(
        "resume_from: there is no checkpoint in {}: the run begins with the start image", resume_from_.string()));
  context.log().info(fmt::format("goes on from update {}, of iteration {}, by the checkpoint in {}", resumed_.update,
                                 resumed_.iteration, resume_from_.string()));
  context.report("resumed_update", resumed_.update);
}

void EstimateKeeper::take(Checkpoint checkpoint) {
  CheckpointStep& step = checkpoint.step;
  require_made_by(algorithm_, step, resume_from_);
  rejected_before_ = std::move(step.rejected);
  events_before_ = step.events;
  kept_ = std::move(step.kept);
  rest_.resume(kept_);
  resumed_quantity_ = {};
  resumed_quantity_.add(checkpoint.quantity);
  quantity_ = resumed_quantity_;
  grid_ = checkpoint.image.grid;
  image_ = std::make_shared<const Image>(std::move(checkpoint.image));
}

// A checkpoint's image, where updates are made.
void EstimateKeeper::place() {
  if (backend_ != Backend::cuda) return;
  image_ = std::make_shared<const Image>(image_->to(Memory::device));
  synchronize(nullptr);  // before the host's image is released
}

void require_made_by(const std::string& algorithm, const CheckpointStep& step, const std::filesystem::path& folder) {
  if (step.algorithm.empty() || step.algorithm == algorithm) return;
  throw std::runtime_error(
      fmt::format("the checkpoint in {} is of {}, and this run has {}: resume with the pipeline "
                  "that was killed, or leave resume_from out",
                  folder.string(), step.algorithm, algorithm));
}

void require_finite(std::int64_t not_finite, const UpdateStep& step) {
  if (not_finite == 0) return;
  throw std::runtime_error(fmt::format(
      "{}: {} voxels would no longer be finite numbers, so the run ends with the image before this update: look for "
      "extreme values in what came in (start_value, corrections, a sensitivity image), or take shorter steps",
      in_words(step), not_finite));
}

const Image& InverseSensitivities::of(const Projected& projected) {
  const Image& sensitivity = *projected.sensitivity;
  const auto make = [&] {
    return projected.support ? inverse_sensitivity(sensitivity, *projected.support, floor_)
                             : inverse_sensitivity(sensitivity, floor_);
  };
  const std::size_t bytes = static_cast<std::size_t>(sensitivity.voxels.size()) * sizeof(float);
  return inverses_.of(projected.sensitivity, make, std::max<std::size_t>(1, most_bytes_of_inverses / bytes));
}

const Image& InverseSensitivities::of_whole(const Projected& projected) {
  if (!projected.support) return of(projected);
  return wholes_.of(projected.support, [&] { return inverse_sensitivity(*projected.support, floor_); });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
