// Counts of two strips' events: a response with y counts is y events.
#include "tests/kernels/strip/strip_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("counts: a response of y counts is y events to the strips' projector") {
  const Grid grid = Grid::centred(1, 40, 40, {4, 4, 4});
  const StripSettings settings;
  std::vector<Response> once, often;
  std::vector<float> counts;
  for (int i = 0; i < 30; ++i) {
    const Response response{10.0 + 2 * i, -8.0 + i, 4.0 - i};
    once.push_back(response);
    counts.push_back(static_cast<float>(i % 4));
    for (int n = 0; n < i % 4; ++n) often.push_back(response);
  }
  EventBatch bins = strip_batch(settings.geometry, once);
  bins.counts = Buffer<float>::from(counts);
  const EventBatch list = strip_batch(settings.geometry, often);
  const auto projector = make_strip_projector(grid, settings, Backend::cpu);
  const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f);
  std::vector<float> of_bins(image.size()), of_list(image.size());
  const EmTally a = projector->em_step(bins.view(), image.data(), of_bins.data());
  const EmTally b = projector->em_step(list.view(), image.data(), of_list.data());
  CHECK(rms_of_range(of_bins, of_list) < 1e-6);
  CHECK(a.used == b.used);
  CHECK(a.skipped == b.skipped);
  CHECK(a.log_sum == approx(b.log_sum).epsilon(1e-6));
}
// SPDX-License-Identifier: Apache-2.0
