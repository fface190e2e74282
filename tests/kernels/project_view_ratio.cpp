// The EM ratio of views: its value, books in whole counts also for fractional pixels, and the same bits on any number
// of threads.
#include <algorithm>
#include <cmath>

#include <tbb/task_arena.h>

#include "kernels/project/view_ratio.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/view_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("The ratio of a view is w m y / (w m A x + b), pixel by pixel") {
  ViewSet set = circular_views(2, 3, 1);
  set.places[1].duration_s = 2;
  ViewBatch batch = view_batch(set, {1, 0});
  batch.multiplicative = Buffer<float>::from(std::vector<float>{1, 0.5f, 3, 1, 1, 1});
  batch.additive = Buffer<float>::from(std::vector<float>{0, 1, 0, 2, 0, 0});
  set_counts(batch, std::vector<float>{6, 4, 1, 9, 0, 2});
  std::vector<float> projected = {3, 2, 1, 4, 5, 1};
  const EmTally tally = view_ratio(batch.view(), projected.data(), Backend::cpu);
  CHECK(projected == std::vector<float>{2 * 6 / 6.0f, 1 * 4 / 3.0f, 6 * 1 / 6.0f, 9 / 6.0f, 0, 2});
  CHECK(tally.used == 22);
  CHECK(tally.skipped == 0);
  CHECK(tally.log_sum == approx(6 * std::log(6) + 4 * std::log(3) + std::log(6) + 9 * std::log(6)));
  view_efficiencies(batch.view(), projected.data(), Backend::cpu);
  CHECK(projected == std::vector<float>{2, 1, 6, 1, 1, 1});
}

TEST_CASE("Books of views balance in whole counts, whatever fractions the pixels have") {
  ViewBatch batch = view_batch(circular_views(3, 2, 1));
  set_counts(batch, std::vector<float>{0.4f, 0.4f, 0.3f, 0.9f, 2.6f, 0});
  CHECK(batch.event_count() == 1 + 1 + 3);
  // The second view has one pixel without expectation, the third nothing else.
  std::vector<float> projected = {1, 1, 1, 0, NAN, 1};
  const EmTally tally = view_ratio(batch.view(), projected.data(), Backend::cpu);
  CHECK(tally.skipped == 1 + 3);
  CHECK(tally.used == 1);
  CHECK(projected[3] == 0);
  CHECK(projected[4] == 0);
  batch.counts = {};
  CHECK_THROWS_AS(view_ratio(batch.view(), projected.data(), Backend::cpu), std::invalid_argument);
}

TEST_CASE("The ratio of views is the same bit for bit on any number of threads") {
  ViewBatch batch = view_batch(circular_views(5, 90, 70));
  set_counts(batch, random_numbers(batch.count, 1, 0, 30));
  const auto on_threads = [&](int threads) {
    std::vector<float> projected = random_numbers(batch.count, 2, 0.5f, 30);
    tbb::task_arena arena(threads);
    const EmTally tally = arena.execute([&] { return view_ratio(batch.view(), projected.data(), Backend::cpu); });
    return std::pair(projected, tally.log_sum);
  };
  const auto one = on_threads(1);
  for (const int threads : {2, 3, 8}) CHECK(on_threads(threads) == one);
}

TEST_CASE("The ratio of views on CUDA is the CPU's, and its sum of logarithms within 1e-12, of small views and large") {
  if (!gpu_or_skip()) return;
  for (const int edge : {70, 530}) {  // a large view has other stretches
    ViewBatch host = view_batch(circular_views(3, edge, edge));
    std::vector<float> counts = random_numbers(host.count, 1, -10, 30), projected = random_numbers(host.count, 2, 0, 1);
    for (float& y : counts) y = std::max(y, 0.0f);        // a quarter are none
    for (std::size_t i = 0; i < projected.size(); ++i) {  // from 1e-36 to 1e36, and some that are not usable
      projected[i] *= std::pow(10.0f, static_cast<float>(static_cast<int>(i % 73) - 36));
      if (i % 101 == 0) projected[i] = i % 2 == 0 ? 0.0f : NAN;
    }
    set_counts(host, counts);
    const ViewBatch there = host.to(Memory::device);
    auto on_device = Buffer<float>::from(projected).to(Memory::device);
    const EmTally expected = view_ratio(host.view(), projected.data(), Backend::cpu);
    const EmTally found = view_ratio(there.view(), on_device.data(), Backend::cuda);
    CHECK(found.used == expected.used);
    CHECK(found.skipped == expected.skipped);
    CHECK(expected.skipped > 0);
    CHECK(std::abs(found.log_sum / expected.log_sum - 1) < 1e-12);
    CHECK(on_device.to_vector() == projected);
  }
}
// SPDX-License-Identifier: Apache-2.0
