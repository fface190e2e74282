// Penalised EM by De Pierro's surrogate: with one subset the log-likelihood minus the penalty never falls.
#include "kernels/em/map_em_update.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/update/estimate_keeper.hpp"
#include "gadgets/update/penalised.hpp"

namespace tofstream {
namespace {

struct MapEmUpdate {
  struct Params : UpdateParams {
    bool objective = false;
  };
  static constexpr auto params =
      describe(param<&Params::objective>("objective", objective_words)) + UpdateParams::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // One image more, the curvature.
  static MemoryNeed memory(const Params& p) {
    MemoryNeed need = p.memory();
    (wants_cuda(p.backend) ? need.device_bytes : need.host_bytes) += p.image.bytes();
    return need;
  }

  explicit MapEmUpdate(const Params& p) : p_(p), estimate_(p, "map_em_update"), inverse_(p.sensitivity_floor) {}

  void start(Emit<Estimate>& emit) { emit(estimate_.begin()); }

  void process(UpdateInputs inputs, Emit<Estimate>& emit, Context& context) {
    const Projected& projected = *inputs.projected;
    if (projected.step.restart) objective_.restart();
    if (auto estimate = estimate_.without_update(projected)) return emit(std::move(*estimate));
    if (inputs.penalty) require_penalty_on(*inputs.penalty, estimate_.image());
    if (p_.objective) objective_.add(projected, *estimate_.image(), inputs.penalty.get(), context);
    auto next = estimate_.copy();
    const std::int64_t broken =
        inputs.penalty ? penalised(*next, projected, *inputs.penalty)
                       : em_update(*next, inverse_.of(projected), *projected.back_projection, projected.time_fraction);
    require_finite(broken, projected.step);
    emit(estimate_.updated(std::move(next), projected, context));
  }

 private:
  std::int64_t penalised(Image& next, const Projected& projected, const Penalty& penalty) {
    if (!penalty.prior)
      throw std::runtime_error(
          "this prior gives its gradient and no curvature: use one of the program's priors, or osem_update");
    const Image curvature = penalty.prior->majorant_curvature(*estimate_.image());
    const Image& inverse = inverse_.of(projected);
    const SurrogateTerm term{*penalty.gradient, curvature, inverse_.of_whole(projected), penalty.prior->least_ratio()};
    return map_em_update(next, inverse, *projected.back_projection, projected.time_fraction, term);
  }

  Params p_;
  EstimateKeeper estimate_;
  InverseSensitivities inverse_;
  ObjectiveFigure objective_;
};

TOFSTREAM_GADGET(MapEmUpdate, "map_em_update",
                 "EM under a penalty by a separable surrogate: never a worse image with one subset (De Pierro)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
