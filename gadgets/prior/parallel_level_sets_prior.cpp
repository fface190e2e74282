// Parallel level sets (Ehrhardt et al. 2016): total variation that an anatomical image's edges take no part in.
#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/penalty.hpp"
#include "gadgets/prior/prior_images.hpp"

namespace tofstream {
namespace {

struct ParallelLevelSetsPrior {
  struct Params : PriorParams {
    std::filesystem::path anatomy;
    double eta = 1, epsilon = 1;
  };
  static constexpr auto params =
      PriorParams::params +
      describe(param<&Params::anatomy>("anatomy", required, reads_file,
                                       "NIfTI of the anatomy on any grid that covers the image: differences across its "
                                       "edges count as good as nothing, whatever their sign"),
               param<&Params::eta>("eta", positive, required,
                                   "Difference in the anatomy, in its unit for the shortest voxel edge, well above "
                                   "which there is an edge: several times its noise"),
               param<&Params::epsilon>("epsilon", positive, required,
                                       "Gradient, in the unit of the image for the shortest voxel edge, below which it "
                                       "counts by its square"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) { return prior_memory(inputs); }

  explicit ParallelLevelSetsPrior(const Params& p) : images_(p.kappa, p.anatomy) {
    constexpr double most = 1e15;  // beyond it squares of float32 overflow
    if (images_.largest_of_anatomy() > most * p.eta)
      throw std::invalid_argument(
          fmt::format("eta: {:g} is nothing beside the anatomy's {:g}: give a difference that "
                      "an edge has, in its unit",
                      p.eta, images_.largest_of_anatomy()));
  }

  void process(PriorInput input, Emit<Penalty>& emit, const Params& p) {
    emit(penalty_on(*input.estimate, [&](const Image& image) {
      const PriorSettings settings = images_.settings(p.beta, image);
      return parallel_level_sets_prior(p.epsilon, p.eta, images_.anatomy(), settings);
    }));
  }

 private:
  PriorImages images_;
};

TOFSTREAM_GADGET(ParallelLevelSetsPrior, "parallel_level_sets_prior",
                 "Penalises the image's gradient but for that across the edges of an anatomical image");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
