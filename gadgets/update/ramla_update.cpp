// The relaxed, additive update of RAMLA (Browne and De Pierro 1996): x <- x + l x (A_k^T(ratio) - s_k).
#include "kernels/em/ramla_update.hpp"

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/update/estimate_keeper.hpp"

namespace tofstream {
namespace {

struct RamlaUpdate {
  struct Params {
    double relaxation = 1;
    double decay = 0;
    ImageParams image;
    float start_value = 1;
    float sensitivity_floor = 1e-3f;
    BackendChoice backend = BackendChoice::automatic;
    std::filesystem::path resume_from;
  };
  static constexpr auto params = describe(
      param<&Params::relaxation>("relaxation", range(1e-6, 1),
                                 "How far an update goes: relaxation / max s_k times x (back - s_k). 1: the farthest "
                                 "with which no voxel becomes negative"),
      param<&Params::decay>("decay", range(0, 1e3),
                            "In iteration k the relaxation is divided by 1 + decay (k - 1), so that subsets come to "
                            "agree; 0: it stays"),
      param<&Params::image>("image", "The image to reconstruct"),
      param<&Params::start_value>("start_value", range(1e-30, 1e30), "Value of every voxel at the start"),
      param<&Params::sensitivity_floor>("sensitivity_floor", range(0, 1),
                                        "Voxels less sensitive than this fraction of the maximum become 0"),
      param<&Params::backend>("backend", "Where the update runs"),
      param<&Params::resume_from>("resume_from",
                                  "Folder of a run that was killed: this run continues from its checkpoint"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // As osem_update: the inverse sensitivity and the last estimate, and another image for each estimate.
  static MemoryNeed memory(const Params& p) {
    MemoryNeed need = image_memory(p.backend, 2 * p.image.bytes(), p.image.bytes(), "image.size");
    need.is_limit = p.image.is_auto();
    need.note = "one image more for each subset with a sensitivity of its own, but no more than 128 MiB of them";
    return need;
  }

  explicit RamlaUpdate(const Params& p)
      : p_(p), estimate_({p.image, p.start_value, p.backend, p.resume_from}), inverse_(p.sensitivity_floor) {}

  void start(Emit<Estimate>& emit) { emit(estimate_.begin()); }

  void process(std::shared_ptr<const Projected> projected, Emit<Estimate>& emit, Context& context) {
    if (auto estimate = estimate_.without_update(*projected)) return emit(std::move(*estimate));
    auto next = estimate_.copy();
    const RamlaBlock block{*projected->sensitivity, inverse_.of(*projected), *projected->back_projection,
                           projected->time_fraction};
    const double relaxation = p_.relaxation / (1 + p_.decay * (projected->step.iteration - 1));
    const std::int64_t broken = ramla_update(*next, block, relaxation);
    if (broken > 0) context.log().warning(fmt::format("{} voxels were not finite and became 0", broken));
    context.report("relaxation", relaxation);
    emit(estimate_.updated(std::move(next), *projected));
  }

 private:
  Params p_;
  EstimateKeeper estimate_;
  InverseSensitivities inverse_;
};

TOFSTREAM_GADGET(RamlaUpdate, "ramla_update",
                 "Adds to the estimate what back projection is above sensitivity, relaxed (RAMLA)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
