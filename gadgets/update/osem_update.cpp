// The multiplicative update of list-mode EM (Cui et al. 2011, eq. 1): x <- x / (s T_k/T) * A^T(1 / (A x + c/m)); with a
// penalty on the estimate, s + beta dU/dx in place of s, one step late (Green 1990).
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/update/estimate_keeper.hpp"
#include "gadgets/update/penalised.hpp"
#include "kernels/em/em_update.hpp"

namespace tofstream {
namespace {

struct OsemUpdate {
  using Params = UpdateParams;
  static constexpr auto params = UpdateParams::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) { return p.memory(); }

  explicit OsemUpdate(const Params& p) : estimate_(p, "osem_update"), inverse_(p.sensitivity_floor) {}

  // Not in the constructor, so that other gadgets read and decode meanwhile.
  void start(Emit<Estimate>& emit) { emit(estimate_.begin()); }

  void process(UpdateInputs inputs, Emit<Estimate>& emit, Context& context) {
    const Projected& projected = *inputs.projected;
    if (auto estimate = estimate_.without_update(projected)) return emit(std::move(*estimate));
    auto next = estimate_.copy();
    const std::int64_t broken =
        inputs.penalty ? penalised(*next, projected, *inputs.penalty, context)
                       : em_update(*next, inverse_.of(projected), *projected.back_projection, projected.time_fraction);
    require_finite(broken, projected.step);
    emit(estimate_.updated(std::move(next), projected, context));
  }

 private:
  std::int64_t penalised(Image& next, const Projected& projected, const Penalty& penalty, Context& context) {
    require_penalty_on(penalty, estimate_.image());
    const Image& inverse = inverse_.of(projected);
    const PenaltyTerm term{*penalty.gradient, inverse_.of_whole(projected)};
    const UpdateFaults faults =
        penalised_em_update(next, inverse, *projected.back_projection, projected.time_fraction, term);
    note_limited(faults.limited, context);
    return faults.not_finite;
  }

  void note_limited(std::int64_t voxels, Context& context) {
    if (voxels <= most_limited_) return;
    if (most_limited_ == 0)
      context.log().warning(fmt::format(
          "the penalty is too strong: in {} voxels it would leave less than a tenth of the sensitivity, and "
          "the update takes a tenth; lower the prior's beta",
          voxels));
    most_limited_ = voxels;
    context.report("penalty_limited_voxels", most_limited_);
  }

  EstimateKeeper estimate_;
  InverseSensitivities inverse_;
  std::int64_t most_limited_ = 0;  // of an update
};

TOFSTREAM_GADGET(OsemUpdate, "osem_update", "Multiplies the estimate by back projection over sensitivity (EM, OSEM)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
