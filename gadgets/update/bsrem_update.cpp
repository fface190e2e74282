// The relaxed, preconditioned update of BSREM (Ahn and Fessler 2003): its subsets agree in the end on the image that
// maximises the log-likelihood minus the penalty.
#include "kernels/em/bsrem_update.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/update/estimate_keeper.hpp"
#include "gadgets/update/penalised.hpp"
#include "gadgets/update/subset_weights.hpp"

namespace tofstream {
namespace {

struct BsremUpdate {
  struct Params : UpdateParams {
    double relaxation = 1;
    double decay = 0.1;
    double offset = 1e-3;
    double upper = 0;
    bool objective = false;
  };
  static constexpr auto params =
      describe(
          param<&Params::relaxation>("relaxation", range(1e-6, 1.9),
                                     "Length of the steps of the first iteration; 1: those of OSEM where there is "
                                     "no penalty"),
          param<&Params::decay>("decay", range(0, 1e3),
                                "In iteration k steps are relaxation / (1 + decay (k - 1)) long, so that subsets "
                                "come to agree; 0: they stay as long. Of live_histo, k counts the updates with a "
                                "group of views since its last new events"),
          param<&Params::offset>("offset", range(0, 1),
                                 "d of the preconditioner (x + d) / s, as a fraction of the activity that gives the "
                                 "data's events where it is the same in all voxels"),
          param<&Params::upper>("upper", range(0, 1e30),
                                "No voxel becomes larger; 0: than twice all events over its sensitivity, which "
                                "no maximum exceeds"),
          param<&Params::objective>("objective", objective_words)) +
      UpdateParams::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) { return p.memory(); }

  explicit BsremUpdate(const Params& p)
      : p_(p), estimate_(p, "bsrem_update"), inverse_(p.sensitivity_floor), weights_(estimate_.kept()) {}

  void start(Emit<Estimate>& emit) { emit(estimate_.begin()); }

  void process(UpdateInputs inputs, Emit<Estimate>& emit, Context& context) {
    const Projected& projected = *inputs.projected;
    if (projected.step.restart) {
      weights_ = {};
      objective_.restart();
    }
    if (auto estimate = estimate_.without_update(projected)) return emit(std::move(*estimate));
    if (inputs.penalty) require_penalty_on(*inputs.penalty, estimate_.image());
    if (p_.objective) objective_.add(projected, *estimate_.image(), inputs.penalty.get(), context);
    weights_.note(projected);
    auto next = estimate_.copy();
    update(*next, projected, inputs.penalty.get(), context);
    emit(estimate_.updated(std::move(next), projected, context, weights_.kept()));
  }

 private:
  void update(Image& next, const Projected& projected, const Penalty* penalty, Context& context) {
    const Image& inverse = inverse_.of(projected);
    const BsremBlock block{inverse, inverse_.of_whole(projected), *projected.back_projection, projected.time_fraction,
                           penalty ? penalty->gradient.get() : nullptr};
    constexpr double safety = 2;  // the rate is of one subset, and has its noise
    const BsremStep step{.relaxation = p_.relaxation / (1 + p_.decay * (projected.step.pass() - 1)),
                         .weight = weights_.weight_of(projected),
                         .offset = p_.offset * weights_.mean(),
                         .bound = safety * weights_.rate(),
                         .highest = p_.upper};
    const BsremFaults faults = bsrem_update(next, block, step);
    require_finite(faults.not_finite, projected.step);
    note_bounded(faults.bounded, context);
    context.report("relaxation", step.relaxation);
    context.report("offset", step.offset);
  }

  void note_bounded(std::int64_t voxels, Context& context) {
    if (voxels <= most_bounded_) return;
    if (most_bounded_ == 0)
      context.log().warning(
          fmt::format("{} voxels would have gone above the bound: steps are too long for this penalty, lower "
                      "relaxation or the prior's beta",
                      voxels));
    most_bounded_ = voxels;
    context.report("bounded_voxels", most_bounded_);
  }

  Params p_;
  EstimateKeeper estimate_;
  InverseSensitivities inverse_;
  SubsetWeights weights_;
  ObjectiveFigure objective_;
  std::int64_t most_bounded_ = 0;  // of an update
};

TOFSTREAM_GADGET(BsremUpdate, "bsrem_update",
                 "Relaxed steps along the gradient of likelihood minus penalty, whose subsets come to agree (BSREM)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
