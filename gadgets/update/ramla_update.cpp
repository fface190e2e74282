// The relaxed, additive update of RAMLA (Browne and De Pierro 1996): x <- x + l x (A_k^T(ratio) - s_k).
#include "kernels/em/ramla_update.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/per_image.hpp"
#include "gadgets/update/estimate_keeper.hpp"
#include "kernels/em/em_update.hpp"

namespace tofstream {
namespace {

struct RamlaUpdate {
  struct Params : UpdateParams {
    double relaxation = 1;
    double decay = 0;
  };
  static constexpr auto params =
      describe(param<&Params::relaxation>("relaxation", range(1e-6, 1),
                                          "How far an update goes: relaxation / max s_k times x (back - s_k). 1: the "
                                          "farthest with which no voxel becomes negative"),
               param<&Params::decay>("decay", range(0, 1e3),
                                     "In iteration k the relaxation is divided by 1 + decay (k - 1), so that subsets "
                                     "come to agree; 0: it stays. Of live_histo, k counts the updates with a group of "
                                     "views since its last new events")) +
      UpdateParams::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) { return p.memory(); }

  explicit RamlaUpdate(const Params& p) : p_(p), estimate_(p, "ramla_update"), inverse_(p.sensitivity_floor) {}

  void start(Emit<Estimate>& emit) { emit(estimate_.begin()); }

  void process(std::shared_ptr<const Projected> projected, Emit<Estimate>& emit, Context& context) {
    if (auto estimate = estimate_.without_update(*projected)) return emit(std::move(*estimate));
    auto next = estimate_.copy();
    const Image& sensitivity = *projected->sensitivity;
    const float largest = largest_.of(projected->sensitivity, [&] { return largest_sensitivity(sensitivity); });
    const RamlaBlock block{sensitivity, inverse_.of(*projected), *projected->back_projection, largest,
                           projected->time_fraction};
    const double relaxation = p_.relaxation / (1 + p_.decay * (projected->step.pass() - 1));
    const std::int64_t broken = ramla_update(*next, block, relaxation);
    require_finite(broken, projected->step);
    context.report("relaxation", relaxation);
    emit(estimate_.updated(std::move(next), *projected, context));
  }

 private:
  Params p_;
  EstimateKeeper estimate_;
  InverseSensitivities inverse_;
  PerImage<float> largest_;
};

TOFSTREAM_GADGET(RamlaUpdate, "ramla_update",
                 "Adds to the estimate what back projection is above sensitivity, relaxed (RAMLA)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
