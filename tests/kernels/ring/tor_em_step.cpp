// The fused EM step of the TOR projector: forward, ratio and back in one pass, skipped events,
// additive terms, the same image twice; and what the projector refuses.
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

const Grid step_grid = Grid::centred(30, 30, 20, {4, 4, 4});

void check_fused(Backend backend, float tube_radius) {
  const auto projector =
      make_tor_projector(step_grid, {RadialResponse::gaussian(0.86f * tube_radius, tube_radius)}, backend);
  EventBatch events = batch_of(random_lines(step_grid, 500, 8), {40.5f, 0});
  events.additive = Buffer<float>(Memory::host, events.count);
  for (std::int64_t i = 0; i < events.count; ++i) events.additive[i] = 0.01f * static_cast<float>(i % 5);
  const EventBatch there = events.to(memory_of(backend));
  const Image image = noise_image(step_grid, 2).to(memory_of(backend));

  Buffer<float> ax(memory_of(backend), events.count);
  projector->forward(there.view(), image.voxels.data(), ax.data());
  auto ratio = ax.to_vector();
  double log_sum = 0;
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    const float expectation = ratio[i] + events.additive[static_cast<std::int64_t>(i)];
    log_sum += std::log(static_cast<double>(expectation));
    ratio[i] = 1 / expectation;
  }
  Image expected = Image::filled(step_grid, 0.5f, memory_of(backend));
  const Buffer<float> ratio_there = Buffer<float>::from(ratio).to(memory_of(backend));
  projector->back(there.view(), ratio_there.data(), expected.voxels.data());

  Image fused = Image::filled(step_grid, 0.5f, memory_of(backend));
  const EmTally tally = projector->em_step(there.view(), image.voxels.data(), fused.voxels.data());
  CHECK(error_of_range(fused.voxels.to_vector(), expected.voxels.to_vector()) < 2e-6);
  CHECK(tally.used == 500);
  CHECK(tally.skipped == 0);
  CHECK(tally.log_sum == approx(log_sum).epsilon(1e-6));
}

void check_skipped(Backend backend) {
  const auto projector = make_tor_projector(step_grid, {RadialResponse::gaussian(5, 6)}, backend);
  const EventBatch events =
      batch_of({{{{-200, 0, 0}, {200, 0, 0}, 0}, {{-200, 300, 0}, {200, 300, 0}, 0}, {{-200, 0, NAN}, {200, 0, 0}, 0}}})
          .to(memory_of(backend));
  const Image image = Image::filled(step_grid, 1, memory_of(backend));
  Image sum = Image::zeros(step_grid, memory_of(backend));
  EmTally tally = projector->em_step(events.view(), image.voxels.data(), sum.voxels.data());
  CHECK(tally.used == 1);
  CHECK(tally.skipped == 2);
  const Image dark = Image::zeros(step_grid, memory_of(backend));
  Image untouched = Image::zeros(step_grid, memory_of(backend));
  tally = projector->em_step(events.view(), dark.voxels.data(), untouched.voxels.data());
  CHECK(tally.used == 0);
  CHECK(tally.skipped == 3);
  CHECK(tally.log_sum == 0);
  CHECK(untouched.voxels.to_vector() == dark.voxels.to_vector());
}

}  // namespace

TEST_CASE("the TOR's EM step on the CPU equals forward, ratio and back") {
  check_fused(Backend::cpu, 6);
  check_fused(Backend::cpu, 60);  // more voxels than the kernel keeps weights for
}

TEST_CASE("the TOR's EM step on CUDA equals forward, ratio and back") {
  if (!gpu_or_skip()) return;
  check_fused(Backend::cuda, 6);
}

TEST_CASE("the TOR's EM step on the CPU counts and skips events without expectation") {
  check_skipped(Backend::cpu);
}

TEST_CASE("the TOR's EM step on CUDA counts and skips events without expectation") {
  if (!gpu_or_skip()) return;
  check_skipped(Backend::cuda);
}

TEST_CASE("the CPU's TOR projector gives the same image twice, bit for bit") {
  const auto projector = make_tor_projector(step_grid, {RadialResponse::gaussian(5, 6)}, Backend::cpu);
  const EventBatch events = batch_of(random_lines(step_grid, 20000, 9), {40.5f, 0});
  const Image image = noise_image(step_grid, 2);
  Image first = Image::zeros(step_grid), second = Image::zeros(step_grid);
  projector->em_step(events.view(), image.voxels.data(), first.voxels.data());
  projector->em_step(events.view(), image.voxels.data(), second.voxels.data());
  CHECK(first.voxels.to_vector() == second.voxels.to_vector());
}

TEST_CASE("a TOR projector refuses an invalid grid, no response and a ToF cut of nothing") {
  const auto f = RadialResponse::gaussian(5, 6);
  CHECK_THROWS_AS(make_tor_projector(Grid{}, {f}, Backend::cpu), std::invalid_argument);
  CHECK_THROWS_AS(make_tor_reference(Grid{}, {f}), std::invalid_argument);
  CHECK_THROWS_AS(make_tor_projector(step_grid, {}, Backend::cpu), std::invalid_argument);
  CHECK_THROWS_AS(make_tor_projector(step_grid, {f, 0}, Backend::cpu), std::invalid_argument);
  CHECK_THROWS_AS(make_tor_reference(step_grid, {f, NAN}), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
