// `deterministic` on the CPU: the same bits on any number of threads, for every projector and the sensitivity.
#include <functional>
#include <memory>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"
#include "tests/kernels/strip/strip_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

using MakeAgain = std::function<std::unique_ptr<ListModeProjector>()>;

template <class Work>
auto on_threads(int threads, const Work& work) {
  tbb::task_arena arena(threads);
  return arena.execute(work);
}

/// Runs work on 1, 2, 3 and 16 threads, and check(first result, result).
template <class Work, class Check>
void for_thread_counts(const Work& work, const Check& check) {
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 16);
  const auto first = on_threads(1, work);
  for (const int threads : {2, 3, 16}) {
    CAPTURE(threads);
    check(first, on_threads(threads, work));
  }
}

bool same(const Projections& a, const Projections& b) {
  return a.forward == b.forward && a.back == b.back && a.em == b.em && a.tally.used == b.tally.used &&
         a.tally.skipped == b.tally.skipped && a.tally.log_sum == b.tally.log_sum;
}

void check_projector(const MakeAgain& make, const EventBatch& events) {
  const Grid threads_grid = make()->grid();
  const auto image = noise_image(threads_grid, 3).voxels.to_vector();
  const auto values = random_numbers(events.count, 8);
  for_thread_counts([&] { return project(*make(), events, image, values); },
                    [](const Projections& first, const Projections& other) { CHECK(same(first, other)); });
}

const Grid threads_grid = Grid::centred(24, 20, 16, {3, 3, 3.5f});

MakeAgain joseph(bool deterministic) {
  return [=] { return make_joseph_projector(threads_grid, {.deterministic = deterministic}, Backend::cpu); };
}
MakeAgain tor(bool deterministic) {
  const RadialResponse response = RadialResponse::gaussian(4.5f, 5.2f);
  return [=] {
    return make_tor_projector(threads_grid, {.response = response, .deterministic = deterministic}, Backend::cpu);
  };
}

}  // namespace

TEST_CASE("a deterministic projector gives the same bits on 1, 2, 3 and 16 threads") {
  for (const TofModel tof : {TofModel{}, TofModel{20, 5}})
    for (const int count : {500, 60'000}) {  // work for one slot, and for all
      const EventBatch events = batch_of(random_lines(threads_grid, count, 5), tof);
      check_projector(joseph(true), events);
      if (count > 500) continue;
      check_projector(tor(true), events);
    }
  const EventBatch events = batch_of(random_lines(threads_grid, 20'000, 6), {20, 5});
  check_projector(tor(true), events);
  check_projector([] { return make_blob_projector(blob_grid(16, 16, 12, 4), {.deterministic = true}, Backend::cpu); },
                  events);
}

TEST_CASE("strips give the same bits on 1, 2, 3 and 16 threads") {
  const StripSettings settings;
  const auto middle = [](std::mt19937_64& generator) {
    std::uniform_real_distribution<double> mm(-100, 100);
    return std::array{mm(generator), mm(generator)};
  };
  const EventBatch events = strip_batch(settings.geometry, simulated(settings, 20'000, 3, middle));
  check_projector(
      [&] {
        return make_strip_projector(Grid::centred(1, 50, 50, {4, 4, 4}), settings, Backend::cpu);
      },
      events);
}

TEST_CASE("sensitivities of deterministic projectors have the same bits on 1, 2, 3 and 16 threads") {
  const auto scanner = make_scanner(two_layer_ring());
  for (const MakeAgain& make : {joseph(true), tor(true)})
    for (const bool exact : {true, false}) {
      const SensitivitySettings settings{
          .exact_pairs = exact ? 1 << 30 : 0, .error = 0.05, .replicate_pairs = 10'000, .batch_pairs = 7000};
      for_thread_counts([&] { return compute_sensitivity(*scanner, *make(), settings); },
                        [](const Sensitivity& first, const Sensitivity& other) {
                          CHECK(first.image.voxels.to_vector() == other.image.voxels.to_vector());
                          CHECK(first.noise.held_out.voxels.to_vector() == other.noise.held_out.voxels.to_vector());
                          CHECK(first.relative_error == other.relative_error);
                        });
    }
}
// SPDX-License-Identifier: Apache-2.0
