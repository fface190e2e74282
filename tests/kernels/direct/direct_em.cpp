// EM with histo-images: the likelihood never falls, counts are kept, and the image comes nearer to the truth.
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("EM from histo-images: the likelihood rises, sum s x is the counts, the distance to the truth falls") {
  const Grid grid = Grid::centred(20, 20, 9, {4, 4, 4});
  std::vector<float> truth(static_cast<std::size_t>(grid.voxels()));
  for (int k = 1; k < 8; ++k)
    for (int j = 3; j < 17; ++j)
      for (int i = 3; i < 17; ++i)
        truth[static_cast<std::size_t>(grid.index(i, j, k))] = i > 11 && j < 9 ? 300.0f : 100.0f;
  for (const DirectMethod& method : direct_methods(plain_kernel(10))) {
    CAPTURE(method.name);
    const DirectCase here(grid, {.azimuths = 6, .tilts = 3}, plain_kernel(10), method.method, method.lattice);
    const auto projector = here.projector();
    ViewBatch batch = view_batch(here.set);
    set_counts(batch, direct_forward(*projector, batch, truth));
    std::vector<float> sensitivity(truth.size());
    projector->add_sensitivity(batch.view(), sensitivity.data());
    std::vector<float> image(truth.size(), 50);
    const auto distance = [&] {
      double sum = 0;
      for (std::size_t v = 0; v < image.size(); ++v) sum += std::pow(double{image[v]} - double{truth[v]}, 2);
      return sum;
    };
    double likelihood = -INFINITY, before = distance();
    for (int iteration = 0; iteration < 5; ++iteration) {
      double expected = 0;
      for (const float h : direct_forward(*projector, batch, image)) expected += double{h};
      std::vector<float> sum(truth.size());
      const EmTally tally = projector->em_step(batch.view(), image.data(), sum.data());
      CHECK(tally.log_sum - expected > likelihood);
      likelihood = tally.log_sum - expected;
      for (std::size_t v = 0; v < image.size(); ++v)
        image[v] = sensitivity[v] > 0 ? image[v] * sum[v] / sensitivity[v] : 0;
      CHECK(inner(image, sensitivity) == approx(static_cast<double>(batch.event_count())).epsilon(1e-4));
      CHECK(distance() < before);
      before = distance();
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
