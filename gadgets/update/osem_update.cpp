// The multiplicative update of list-mode EM (Cui et al. 2011, eq. 1): x <- x / (s T_k/T) * A^T(1 / (A x +
// c/m)).
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/update/estimate_keeper.hpp"
#include "kernels/em/em_update.hpp"

namespace tofstream {
namespace {

struct OsemUpdate {
  struct Params {
    ImageParams image;
    float start_value = 1;
    float sensitivity_floor = 1e-3f;
    BackendChoice backend = BackendChoice::automatic;
    std::filesystem::path resume_from;
  };
  static constexpr auto params = describe(
      param<&Params::image>("image", "The image to reconstruct"),
      param<&Params::start_value>("start_value", range(1e-30, 1e30), "Value of every voxel at the start"),
      param<&Params::sensitivity_floor>("sensitivity_floor", range(0, 1),
                                        "Voxels less sensitive than this fraction of the maximum become 0"),
      param<&Params::backend>("backend", "Where the update runs"),
      param<&Params::resume_from>("resume_from", "Folder of a run that was killed, whose checkpoint is gone on from"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // The inverse sensitivity and the last estimate; each estimate that it gives is another image.
  static MemoryNeed memory(const Params& p) {
    MemoryNeed need = image_memory(p.backend, 2 * p.image.bytes(), p.image.bytes(), "image.size");
    need.is_limit = p.image.is_auto();
    return need;
  }

  explicit OsemUpdate(const Params& p)
      : estimate_({p.image, p.start_value, p.backend, p.resume_from}), inverse_(p.sensitivity_floor) {}

  // Here and not in the constructor, so that other gadgets read and decode meanwhile.
  void start(Emit<Estimate>& emit) { emit(estimate_.begin()); }

  void process(std::shared_ptr<const Projected> projected, Emit<Estimate>& emit, Context& context) {
    if (auto estimate = estimate_.without_update(*projected)) return emit(std::move(*estimate));
    auto next = estimate_.copy();
    const std::int64_t broken =
        em_update(*next, inverse_.of(*projected), *projected->back_projection, projected->time_fraction);
    if (broken > 0) context.log().warning(fmt::format("{} voxels were not finite and became 0", broken));
    emit(estimate_.updated(std::move(next), *projected));
  }

 private:
  EstimateKeeper estimate_;
  InverseSensitivities inverse_;
};

TOFSTREAM_GADGET(OsemUpdate, "osem_update", "Multiplies the estimate by back projection over sensitivity (EM, OSEM)");

}  // namespace
}  // namespace tofstream
