// Cui et al.'s scheme on CUDA against the double-precision reference: each combination of its switches, tiles of
// slices, launches, plans, and the iteration that it times.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/em/em_update.hpp"
#include "kernels/ring/tor/paper/iteration.hpp"
#include "kernels/ring/tor/paper/paper.hpp"
#include "kernels/ring/tor/tor_backends.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct PaperCase {
  Grid grid;
  RadialResponse response;
  TofModel tof;
};

/// Odd sizes; voxels isotropic and not, and two lattices of blobs; a Gaussian, a blob's response and a table; ToF and
/// none.
std::vector<PaperCase> paper_cases() {
  const RadialResponse gaussian = RadialResponse::gaussian(5.16f, 6);
  const Grid blobs = blob_grid(11, 9, 7, 8.15f);
  return {{Grid::centred(21, 17, 13, {4, 4, 4}), gaussian, {40.5f, 0}},
          {Grid::centred(20, 27, 9, {2, 1, 4}), RadialResponse::kaiser_bessel(8, 5), {7.1f, 12}},
          {{{7, 31, 5}, {3, 2, 6}, {10, -25, -8}}, gaussian, {}},
          {Grid::centred(9, 11, 13, {4, 4, 4}), RadialResponse::table({4, 3, 2, 0}, 8), {40.5f, 0}},
          {blobs, RadialResponse::kaiser_bessel(blobs.blob.alpha, blobs.blob.radius_mm), {40.5f, 0}}};
}

/// A case's events with additive terms, and the reference's results for them.
struct Expected {
  PaperCase c;
  EventBatch events;
  std::vector<float> image, values;
  Projections projections;

  explicit Expected(const PaperCase& of, int lines = 150) : c(of) {
    std::vector<Lor> lors = random_lines(c.grid, lines, 31);
    for (const Lor& lor : awkward_lines()) lors.push_back(lor);
    events = batch_of(lors, c.tof);
    events.additive = Buffer<float>(Memory::host, events.count);
    for (std::int64_t i = 0; i < events.count; ++i) events.additive[i] = 0.01f * static_cast<float>(i % 3);
    image = random_numbers(c.grid.voxels(), 1, 0.5f, 1.5f);
    values = random_numbers(events.count, 2);
    projections = project(*tor::make_reference(c.grid, {.response = c.response, .cuda_path = CudaPath::paper}), events,
                          image, values);
  }

  std::unique_ptr<ListModeProjector> paper(const PaperScheme& scheme) const {
    return tor::make_projector(c.grid, {.response = c.response, .cuda_path = CudaPath::paper, .paper = scheme},
                               Backend::cuda);
  }

  void check(const PaperScheme& scheme) const {
    const auto projector = paper(scheme);
    CHECK(projector->backend() == Backend::cuda);
    const Projections found = project(*projector, events, image, values);
    // Lines are kept in floats, good to 4e-6 voxels; a texture joins its samples by fractions of 8 bits.
    const double tolerance = scheme.texture ? 5e-6 : 1e-6;
    CHECK(rms_of_range(found.forward, projections.forward) < tolerance);
    CHECK(rms_of_range(found.back, projections.back) < tolerance);
    CHECK(rms_of_range(found.em, projections.em) < tolerance);
    CHECK(found.tally.used == projections.tally.used);
    CHECK(found.tally.skipped == projections.tally.skipped);
    CHECK(found.tally.log_sum == approx(projections.tally.log_sum).epsilon(1e-5));
    CHECK(inner(found.forward, values) == approx(inner(image, found.back)).epsilon(1e-5));
  }
};

constexpr int switches = 10;

/// The scheme with one combination of switches; with small blocks, so that each thread has several lines and several
/// blocks share slices.
PaperScheme combination(unsigned bits) {
  const auto on = [&](unsigned bit) { return (bits >> bit & 1u) != 0; };
  return {.structure_of_arrays = on(0),
          .staged_slices = on(1),
          .partition = on(2),
          .fixed_bounds = on(3),
          .texture = on(4),
          .hardware_atomics = on(5),
          .sort = on(6),
          .skip_slices = on(7),
          .fast_math = on(8),
          .unrolled = on(9),
          .blocks = 3,
          .threads = 32};
}

bool valid(const PaperScheme& scheme) {
  return scheme.partition || !scheme.sort;
}

}  // namespace

TEST_CASE("each combination of the paper's switches gives the reference's projections") {
  if (!gpu_or_skip()) return;
  for (const PaperCase& c : paper_cases()) {
    const Expected expected(c);
    for (unsigned bits = 0; bits < 1u << switches; ++bits) {
      const PaperScheme scheme = combination(bits);
      if (!valid(scheme)) continue;
      CAPTURE(fmt::format("{:010b}", bits));
      CAPTURE(c.grid.size[0]);
      expected.check(scheme);
    }
  }
}

TEST_CASE("the paper's scheme cuts slices into tiles, and runs by any launch") {
  if (!gpu_or_skip()) return;
  for (const PaperCase& c : paper_cases()) {
    const Expected expected(c);
    for (const std::int64_t bytes : {4, 500, 2000})
      for (const bool fixed : {true, false}) expected.check({.fixed_bounds = fixed, .shared_bytes = bytes});
    for (const int threads : {32, 96, 1024})
      for (const int blocks : {1, 7, 500}) expected.check({.blocks = blocks, .threads = threads});
    expected.check({});
  }
}

TEST_CASE("the paper's scheme projects slices larger than a block's shared memory, and wide tubes") {
  if (!gpu_or_skip()) return;
  const RadialResponse narrow = RadialResponse::gaussian(2.58f, 3), wide = RadialResponse::gaussian(25.8f, 29.3f);
  for (const RadialResponse& response : {narrow, wide}) {
    const Expected expected({Grid::centred(301, 277, 5, {2, 2, 2}), response, {13.6f, 0}}, 40);
    expected.check({});
    expected.check({.fixed_bounds = false, .texture = false});
  }
}

TEST_CASE("the paper's scheme plans a batch once for several steps, and takes no events") {
  if (!gpu_or_skip()) return;
  const Expected expected(paper_cases()[0]);
  const auto projector = expected.paper({});
  const EventBatch there = expected.events.to(Memory::device);
  const auto image = Buffer<float>::from(expected.image).to(Memory::device);
  const auto plan = projector->plan(there.view());
  REQUIRE(plan != nullptr);
  CHECK(plan->bytes() == static_cast<std::size_t>(there.count) * 18 * sizeof(float));
  for (int pass = 0; pass < 2; ++pass) {
    auto sum = Buffer<float>::zeros(Memory::device, projector->grid().voxels());
    const EmTally tally = projector->planned_em_step(plan.get(), there.view(), image.data(), sum.data());
    CHECK(tally.used == expected.projections.tally.used);
    CHECK(rms_of_range(sum.to_vector(), expected.projections.em) < 5e-6);
  }
  auto sum = Buffer<float>::zeros(Memory::device, projector->grid().voxels());
  const EventView none = there.view().slice(0, 0);
  CHECK(projector->em_step(none, image.data(), sum.data()).used == 0);
  projector->forward(none, image.data(), nullptr);
  projector->back(none, nullptr, sum.data());
  CHECK(inner(sum.to_vector(), sum.to_vector()) == 0);
}

TEST_CASE("collisions of a back projection: none of one line, many of a line that all threads have") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(21, 17, 13, {4, 4, 4});
  const std::vector<Lor> line = random_lines(grid, 1, 5);
  const auto collisions = [&](int copies, bool staged, bool hardware) {
    const PaperScheme scheme{.staged_slices = staged, .hardware_atomics = hardware, .blocks = 1};
    const TorSettings settings{
        .response = RadialResponse::gaussian(5.16f, 6), .cuda_path = CudaPath::paper, .paper = scheme};
    const auto projector = tor::make_projector(grid, settings, Backend::cuda);
    auto& paper = dynamic_cast<tor::paper::PaperProjector&>(*projector);
    const EventBatch events =
        batch_of(std::vector<Lor>(static_cast<std::size_t>(copies), line[0]), {40.5f, 0}).to(Memory::device);
    return paper.planned_collisions(*paper.plan(events.view()), events.view());
  };
  for (const bool staged : {true, false}) {
    CAPTURE(staged);
    const auto one = collisions(1, staged, false), many = collisions(64, staged, false);
    CHECK(one.writes > 0);
    CHECK(std::ranges::max(one.of_voxel) == 0);
    CHECK(many.writes == 64 * one.writes);
    CHECK(std::ranges::max(many.of_voxel) > 1);
  }
  CHECK_THROWS_AS(collisions(1, true, true), std::invalid_argument);
}

TEST_CASE("an iteration that updates on the GPU equals one whose images go through the host") {
  if (!gpu_or_skip()) return;
  const Expected expected(paper_cases()[0]);
  const auto projector = expected.paper({});
  const EventBatch there = expected.events.to(Memory::device);
  const auto plan = projector->plan(there.view());
  const Grid& grid = projector->grid();
  Image sensitivity = Image::zeros(grid);
  make_tor_reference(grid, {.response = expected.c.response, .cuda_path = CudaPath::paper})
      ->back(expected.events.view(), nullptr, sensitivity.voxels.data(), nullptr);
  const Image inverse = inverse_sensitivity(sensitivity).to(Memory::device);
  Image sum = Image::zeros(grid, Memory::device);
  std::vector<std::vector<float>> estimates;
  for (const bool on_device : {true, false}) {
    Image estimate = Image::filled(grid, 1, Memory::device);
    for (int n = 0; n < 2; ++n)
      tor::paper::iterate({*projector, plan.get(), there.view(), estimate, inverse, sum}, on_device);
    estimates.push_back(estimate.voxels.to_vector());
  }
  CHECK(error_of_range(estimates[0], estimates[1]) < 1e-5);
  CHECK(inner(estimates[0], estimates[0]) > 0);
}
// SPDX-License-Identifier: Apache-2.0
