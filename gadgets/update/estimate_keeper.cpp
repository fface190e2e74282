// What updates have in common: see estimate_keeper.hpp.
#include "gadgets/update/estimate_keeper.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/update/step_words.hpp"
#include "kernels/em/em_update.hpp"

namespace tofstream {

MemoryNeed UpdateParams::memory() const {
  MemoryNeed need = image_memory(backend, 2 * image.bytes(), image.bytes(), "image.size");
  need.is_limit = image.is_auto();
  need.note = "one image more for each subset with a sensitivity of its own, but no more than 128 MiB of them";
  return need;
}

EstimateKeeper::EstimateKeeper(const UpdateParams& settings)
    : start_value_(settings.start_value), backend_(settings.backend), rest_(settings.stop) {
  if (settings.image.is_auto()) {
    wish_ = settings.image.wish();
  } else {
    grid_ = settings.image.grid();
    validate_basis(grid_);
    const Buffer<float> room(Memory::host, grid_.voxels());  // fails at the start where there is no memory for it
  }
  if (!settings.resume_from.empty()) resume(settings.resume_from);
}

Estimate EstimateKeeper::begin() {
  if (image_ && backend_ == Backend::cuda) {
    image_ = std::make_shared<const Image>(image_->to(Memory::device));
    synchronize(nullptr);  // before the host's image is released
  }
  if (!image_ && !wish_) begin_on(grid_);
  return first(wish_);
}

Estimate EstimateKeeper::first(const std::optional<GridWish>& wish) const {
  return {resumed_, image_,    quantity_.get(),   wish, host_copy_, rejected_before_, {}, kept_,
          {},       modality_, rest_.is_at_rest()};
}

std::optional<Estimate> EstimateKeeper::without_update(const Projected& projected) {
  modality_ = projected.modality;
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
  if (projected.step.frame.number > 0 && resumed_.iteration > 0)
    throw std::runtime_error(
        "resume_from: a checkpoint does not say of which frame it is, so a run with frames begins anew: leave it out");
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
  estimate.kept = kept_;
  if ((estimate.is_at_rest = rest_.is_at_rest())) end(estimate.step);
  if (!projected.coefficients_of.empty())
    estimate.filters = {{.other = fmt::format("coefficients of {}, not the image", projected.coefficients_of)}};
  estimate.modality = modality_ = projected.modality;
  return estimate;
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

void EstimateKeeper::resume(const std::filesystem::path& folder) {
  auto checkpoint = read_checkpoint(folder);
  if (!checkpoint) return;
  if (!wish_ && !(checkpoint->image.grid == grid_))
    throw std::runtime_error(
        fmt::format("the checkpoint in {} belongs to another image than `image` describes", folder.string()));
  resumed_ = {.iteration = checkpoint->step.iteration, .update = checkpoint->step.update};
  rejected_before_ = checkpoint->step.rejected;
  kept_ = checkpoint->step.kept;
  rest_.resume(kept_);
  resumed_quantity_.add(checkpoint->quantity);
  quantity_ = resumed_quantity_;
  grid_ = checkpoint->image.grid;
  image_ = std::make_shared<const Image>(std::move(checkpoint->image));
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
