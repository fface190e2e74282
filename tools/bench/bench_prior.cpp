// `tofstream-bench prior`: the gradient of each prior, on an image of any size.
#include <memory>
#include <vector>

#include "kernels/prior/prior.hpp"
#include "tools/bench/bench_projecting.hpp"
#include "tools/bench/image_work.hpp"

namespace tofstream::command {

namespace {

struct NamedPrior {
  const char* name;
  std::shared_ptr<const Prior> prior;
};

/// `anatomy`: on the grid of the images, in their memory.
std::vector<NamedPrior> priors(const std::shared_ptr<const Image>& anatomy) {
  const PriorSettings settings{.beta = 1e-3};
  return {{"quadratic", neighbour_prior(QuadraticPotential{}, settings)},
          {"huber", neighbour_prior(HuberPotential{0.1}, settings)},
          {"log_cosh", neighbour_prior(LogCoshPotential{10}, settings)},
          {"relative_difference", neighbour_prior(RelativeDifferencePotential{2, 1e-3}, settings)},
          {"total_variation", total_variation_prior(0.01, settings)},
          {"parallel_level_sets", parallel_level_sets_prior(0.01, 0.1, anatomy, settings)}};
}

void measure_priors(ImageRows& rows) {
  const auto image = std::make_shared<const Image>(test_image(rows.grid())),
             there = std::make_shared<const Image>(image->to(rows.memory()));
  synchronize(nullptr);
  const std::vector<NamedPrior> here = priors(image), measured = priors(there);
  for (std::size_t p = 0; p < measured.size(); ++p) {
    Image gradient;
    rows.add({.name = measured[p].name, .run = [&] { gradient = measured[p].prior->gradient(*there); }, .images = 2},
             gradient, [&] { return here[p].prior->gradient(*image); });
  }
}

std::function<void()> declare_prior(Command& line) {
  return declare_image_bench(
      line, "prior",
      "gradients of priors of 26 neighbours, of total variation and of the image's own parallel level sets",
      measure_priors);
}

TOFSTREAM_BENCH("prior", "Gradients of priors", declare_prior);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
