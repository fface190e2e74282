// Smoothed total variation: images whose parts are flat.
#include <cstddef>
#include <span>

#include "core/gadget.hpp"
#include "gadgets/penalty.hpp"
#include "gadgets/prior/prior_images.hpp"

namespace tofstream {
namespace {

struct TotalVariationPrior {
  struct Params : PriorParams {
    double epsilon = 1;
  };
  static constexpr auto params =
      PriorParams::params +
      describe(param<&Params::epsilon>("epsilon", positive, required,
                                       "Gradient, in the unit of the image for the shortest voxel edge, below which it "
                                       "counts by its square"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) { return prior_memory(inputs); }

  explicit TotalVariationPrior(const Params& p) : images_(p.kappa) {}

  void process(PriorInput input, Emit<Penalty>& emit, const Params& p) {
    emit(penalty_on(*input.estimate, [&](const Image& image) {
      return total_variation_prior(p.epsilon, images_.settings(p.beta, image));
    }));
  }

 private:
  PriorImages images_;
};

TOFSTREAM_GADGET(TotalVariationPrior, "total_variation_prior",
                 "Penalises the length of the image's gradient, smoothed where it is small");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
