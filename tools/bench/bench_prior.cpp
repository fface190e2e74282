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

std::vector<NamedPrior> priors() {
  const PriorSettings settings{.beta = 1e-3};
  return {{"quadratic", neighbour_prior(QuadraticPotential{}, settings)},
          {"huber", neighbour_prior(HuberPotential{0.1}, settings)},
          {"log_cosh", neighbour_prior(LogCoshPotential{10}, settings)},
          {"relative_difference", neighbour_prior(RelativeDifferencePotential{2, 1e-3}, settings)},
          {"total_variation", total_variation_prior(0.01, settings)}};
}

void measure_priors(ImageRows& rows) {
  const Image image = test_image(rows.grid()), there = image.to(rows.memory());
  for (const NamedPrior& named : priors()) {
    Image gradient;
    rows.add({.name = named.name, .run = [&] { gradient = named.prior->gradient(there); }, .images = 2}, gradient,
             [&] { return named.prior->gradient(image); });
  }
}

std::function<void()> declare_prior(Command& line) {
  return declare_image_bench(line, "prior", "gradients of priors of 26 neighbours and of total variation",
                             measure_priors);
}

TOFSTREAM_BENCH("prior", "Gradients of priors", declare_prior);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
