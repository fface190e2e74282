// Stochastic variance-reduced gradients: steps along the gradient of all data at an anchor, corrected by how much one
// subset's gradient has changed since (Johnson and Zhang 2013; for emission tomography Kereta et al. 2021). Subsets then
// agree without steps that become shorter. The step itself is BSREM's.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/update/estimate_keeper.hpp"
#include "gadgets/update/penalised.hpp"
#include "gadgets/update/subset_weights.hpp"
#include "kernels/em/bsrem_update.hpp"
#include "kernels/em/image_sum.hpp"

namespace tofstream {
namespace {

/// The back projections of all subsets at one image, the anchor, and their sum. With sensitivities, which do not change
/// with the image, they are the gradients.
class Anchor {
 public:
  /// Forgets the last one.
  void begin() { *this = {}; }
  /// A subset at the anchor; kept where the update works while there is room there, else on the host.
  void keep(const Projected& projected, Context& context) {
    const std::shared_ptr<const Image>& back = projected.back_projection;
    if (!sum_) {
      sum_ = Image::zeros(back->grid, back->voxels.memory());
      subsets_.resize(static_cast<std::size_t>(projected.step.subsets));
    }
    add_difference(*sum_, 1, *back);
    time_ += projected.time_fraction;
    subsets_.at(static_cast<std::size_t>(projected.step.number)) = placed(back);
    context.report("anchors_on_host", on_host_);
  }
  /// An estimate of the back projection of all data at the image that `projected` is of, from one subset of it.
  Image all_from_one(const Projected& projected) const {
    const auto& then = subsets_.at(static_cast<std::size_t>(projected.step.number));
    if (!then)
      throw std::runtime_error("a subset came that the anchor does not have: each pass must have the same subsets");
    Image all = sum();
    const Memory memory = all.voxels.memory();
    const auto subsets = static_cast<double>(subsets_.size());
    if (on_host(then->voxels.memory()) == on_host(memory)) {
      add_difference(all, subsets, *projected.back_projection, then.get());
    } else {
      const Image here = then->to(memory);
      add_difference(all, subsets, *projected.back_projection, &here);
    }
    return all;
  }
  Image sum() const { return sum_->to(sum_->voxels.memory()); }
  /// T_k/T of all subsets.
  double time() const { return time_; }
  bool is_there() const { return sum_.has_value(); }

 private:
  std::shared_ptr<const Image> placed(const std::shared_ptr<const Image>& back) {
    constexpr std::size_t reserve = std::size_t{1} << 30;  // for images and a pass
    if (on_host(back->voxels.memory()) || free_device_bytes() > reserve + back->bytes()) return back;
    ++on_host_;
    return std::make_shared<const Image>(back->to(Memory::host));
  }

  std::optional<Image> sum_;
  std::vector<std::shared_ptr<const Image>> subsets_;  // by number
  double time_ = 0;
  std::int64_t on_host_ = 0;
};

struct SvrgUpdate {
  struct Params : UpdateParams {
    double relaxation = 0.3;
    int warm_up = 1;
    int anchor_every = 3;
    double offset = 1e-3;
    double upper = 0;
    bool objective = false;
  };
  static constexpr auto params =
      describe(param<&Params::relaxation>("relaxation", range(1e-6, 1.9),
                                          "Length of the steps, which stays; 1: those of EM where there is one subset "
                                          "and no penalty. Subsets of few data need shorter ones, or steps run away"),
               param<&Params::warm_up>("warm_up", range(0, 10000),
                                       "Passes before the first anchor, with BSREM's steps of the same length"),
               param<&Params::anchor_every>("anchor_every", range(1, 10000),
                                            "Passes with steps after each pass for an anchor, in which the image stays "
                                            "until its end"),
               param<&Params::offset>("offset", range(0, 1),
                                      "d of the preconditioner (x + d) / s, as a fraction of the activity that gives "
                                      "the data's events where it is the same in all voxels"),
               param<&Params::upper>("upper", range(0, 1e30),
                                     "No voxel becomes larger; 0: than twice all events over its sensitivity, which no "
                                     "maximum exceeds"),
               param<&Params::objective>("objective", objective_words)) +
      UpdateParams::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) {
    MemoryNeed need = p.memory();
    need.note =
        "holds an image for each subset, on a GPU while there is room, else on the host, one of all and the anchor's";
    return need;
  }

  explicit SvrgUpdate(const Params& p) : p_(p), estimate_(p, "svrg_update"), inverse_(p.sensitivity_floor) {
    if (estimate_.is_resumed() && !SubsetWeights::are_in(estimate_.kept())) refuse_to_resume();
    weights_ = SubsetWeights(estimate_.kept());
  }

  void start(Emit<Estimate>& emit) { emit(sent(estimate_.begin())); }

  void process(UpdateInputs inputs, Emit<Estimate>& emit, Context& context) {
    const Projected& projected = *inputs.projected;
    if (projected.step.restart) {
      weights_ = {};
      anchor_.begin();
      objective_.restart();
    }
    if (auto estimate = estimate_.without_update(projected)) return emit(sent(std::move(*estimate)));
    if (inputs.penalty) require_penalty_on(*inputs.penalty, estimate_.image());
    if (p_.objective) objective_.add(projected, *estimate_.image(), inputs.penalty.get(), context);
    weights_.note(projected);
    auto image = next(projected, inputs.penalty.get(), context);
    emit(sent(estimate_.updated(std::move(image), projected, context, weights_.kept())));
  }

 private:
  bool looks_at_anchor(int iteration) const {
    return iteration > p_.warm_up && (iteration - p_.warm_up - 1) % (p_.anchor_every + 1) == 0;
  }

  // A run that was killed goes on from the last anchor's image, whose pass gives all that is known of it once more.
  Estimate sent(Estimate estimate) {
    if (!estimate.image) return estimate;
    last_ = std::make_shared<const Estimate>(estimate);
    if (estimate.step.iteration > p_.warm_up) estimate.resumes_at = anchored_;
    return estimate;
  }

  void refuse_to_resume() const {
    throw std::runtime_error(fmt::format(
        "the checkpoint in {} is not of an anchor of this run: it is of an older version, or warm_up, anchor_every or "
        "subsets were others; give them as they were, or leave resume_from out",
        p_.resume_from.string()));
  }

  std::shared_ptr<const Image> next(const Projected& projected, const Penalty* penalty, Context& context) {
    if (projected.step.iteration <= p_.warm_up) return stepped_by_subset(projected, penalty, context);
    if (projected.step.subsets == 0)
      throw std::runtime_error(
          "svrg_update needs all data before it begins: take subset_builder or view_subsets, and no live subsets");
    if (!looks_at_anchor(projected.step.iteration)) {
      if (!anchor_.is_there()) refuse_to_resume();
      return stepped_by_all(anchor_.all_from_one(projected), projected, penalty, context);
    }
    if (projected.step.iteration != anchored_in_) {
      if (projected.step.subset > 0) refuse_to_resume();
      anchor_.begin();
      anchored_ = last_;
    }
    anchored_in_ = projected.step.iteration;
    anchor_.keep(projected, context);
    if (!projected.step.ends_iteration) return estimate_.image();
    return stepped_by_all(anchor_.sum(), projected, penalty, context);
  }

  // BSREM's step.
  std::shared_ptr<const Image> stepped_by_subset(const Projected& projected, const Penalty* penalty, Context& context) {
    const Image& inverse = inverse_.of(projected);
    return stepped({inverse, inverse_.of_whole(projected), *projected.back_projection, projected.time_fraction,
                    gradient_of(penalty)},
                   weights_.weight_of(projected), projected.step, context);
  }

  // The same step as if all data were one subset. Their sensitivity is the whole's, where subsets have their own.
  std::shared_ptr<const Image> stepped_by_all(const Image& back, const Projected& projected, const Penalty* penalty,
                                              Context& context) {
    const Image& inverse = inverse_.of_whole(projected);
    const double time = projected.support ? projected.time_fraction : anchor_.time();
    return stepped({inverse, inverse, back, time, gradient_of(penalty)}, 1, projected.step, context);
  }

  static const Image* gradient_of(const Penalty* penalty) { return penalty ? penalty->gradient.get() : nullptr; }

  std::shared_ptr<const Image> stepped(const BsremBlock& block, double weight, const UpdateStep& of, Context& context) {
    auto next = estimate_.copy();
    constexpr double safety = 2;  // the rate is of one subset, and has its noise
    const BsremStep step{.relaxation = p_.relaxation,
                         .weight = weight,
                         .offset = p_.offset * weights_.mean(),
                         .bound = safety * weights_.rate(),
                         .highest = p_.upper};
    const BsremFaults faults = bsrem_update(*next, block, step);
    require_finite(faults.not_finite, of);
    note_bounded(faults.bounded, context);
    context.report("offset", step.offset);
    return next;
  }

  void note_bounded(std::int64_t voxels, Context& context) {
    if (voxels <= most_bounded_) return;
    if (most_bounded_ == 0)
      context.log().warning(
          fmt::format("{} voxels would have gone above the bound: steps are too long, lower relaxation, take fewer "
                      "subsets or lower the prior's beta",
                      voxels));
    most_bounded_ = voxels;
    context.report("bounded_voxels", most_bounded_);
  }

  Params p_;
  EstimateKeeper estimate_;
  InverseSensitivities inverse_;
  SubsetWeights weights_;
  ObjectiveFigure objective_;
  Anchor anchor_;
  std::shared_ptr<const Estimate> last_;      // that went out
  std::shared_ptr<const Estimate> anchored_;  // whose image the anchor is
  int anchored_in_ = 0;                       // iteration
  std::int64_t most_bounded_ = 0;             // of an update
};

TOFSTREAM_GADGET(SvrgUpdate, "svrg_update",
                 "Steps along the gradient of likelihood minus penalty at an anchor, corrected by subsets (SVRG)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
