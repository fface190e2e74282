// The strip projector on CUDA: all forms by all paths against the double-precision reference, and the sums in shared
// memory.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/strip/sensitivity.hpp"
#include "tests/kernels/strip/strip_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr StripCudaPath paths[] = {StripCudaPath::automatic, StripCudaPath::warp_per_event,
                                   StripCudaPath::thread_per_event};

Grid paper_grid() {
  return Grid::centred(1, 65, 75, {4, 4, 4});
}

/// Decays anywhere in an ellipse that fills most of the image, and a hot spot off the centre.
EventBatch events_of(const StripSettings& settings, int count, std::uint64_t seed = 3) {
  int number = 0;
  return strip_batch(settings.geometry, simulated(settings, count, seed, [&](std::mt19937_64& generator) {
                       std::uniform_real_distribution<double> uniform(-1, 1);
                       if (++number % 4 == 0) return std::array{40.0 + uniform(generator), -60.0 + uniform(generator)};
                       while (true) {
                         const double y = uniform(generator), z = uniform(generator);
                         if (y * y + z * z < 1) return std::array{110 * y, 130 * z};
                       }
                     }));
}

std::unique_ptr<ListModeProjector> on_gpu(const Grid& grid, StripSettings settings, StripCudaPath path) {
  settings.cuda_path = path;
  return make_strip_projector(grid, settings, Backend::cuda);
}

void check_against_reference(const Grid& grid, const StripSettings& settings, const EventBatch& events) {
  const auto image = random_numbers(grid.voxels(), 1, 0.2f, 1.5f);
  const auto values = random_numbers(events.count, 2, -0.5f, 1.5f);
  const Projections expected = project(*make_strip_reference(grid, settings), events, image, values);
  for (const StripCudaPath path : paths) {
    CAPTURE(static_cast<int>(path));
    const Projections here = project(*on_gpu(grid, settings, path), events, image, values);
    CHECK(here.tally.used == expected.tally.used);
    CHECK(here.tally.skipped == expected.tally.skipped);
    CHECK(here.tally.log_sum == approx(expected.tally.log_sum).epsilon(1e-6));
    CHECK(rms_of_range(here.forward, expected.forward) < 1e-6);
    CHECK(rms_of_range(here.back, expected.back) < 2e-6);
    CHECK(rms_of_range(here.em, expected.em) < 1e-5);
    CHECK(inner(here.forward, values) == approx(inner(image, here.back)).epsilon(1e-5));
  }
}

/// x <- x / s A^T(1 / A x), ten times, on the host except for A and A^T.
std::vector<float> ten_iterations(ListModeProjector& projector, const EventBatch& batch) {
  const Memory memory = memory_of(projector.backend());
  const EventBatch events = batch.to(memory);
  const Image sensitivity = *projector.closed_form_sensitivity();
  std::vector<float> estimate(static_cast<std::size_t>(projector.grid().voxels()), 1.0f);
  for (int iteration = 0; iteration < 10; ++iteration) {
    const Buffer<float> image = Buffer<float>::from(estimate).to(memory);
    auto sum = Buffer<float>::zeros(memory, projector.grid().voxels());
    projector.em_step(events.view(), image.data(), sum.data());
    const std::vector<float> sums = sum.to_vector();
    for (std::size_t v = 0; v < estimate.size(); ++v) {
      const float seen = sensitivity.voxels[static_cast<std::int64_t>(v)];
      estimate[v] = seen > 0 ? estimate[v] * sums[v] / seen : 0;  // the outermost pixels lie on the strips
    }
  }
  return estimate;
}

/// EM steps of many events on a grid that takes the fast path: repeatable, complete, and equal to the reference's.
void check_same_bits(const Grid& grid, const StripSettings& settings) {
  const EventBatch few = events_of(settings, 2000);
  // The same events many times over, so that a block adds up its sums more than once.
  EventBatch many;
  const std::int64_t copies = 1000;
  many.count = copies * few.count;
  many.tof = few.tof;
  for_each_array_pair(many, few, [&](auto& to, const auto& from) {
    using Array = std::remove_cvref_t<decltype(to)>;
    if (from.empty()) return;
    to = Array(Memory::host, many.count);
    for (std::int64_t copy = 0; copy < copies; ++copy)
      std::memcpy(to.data() + copy * few.count, from.data(), from.bytes());
  });
  const EventBatch there = many.to(Memory::device);
  // Ratios from 1 to 1e15: those of the dark half are far too large for the others' scale.
  for (const float dark : {1.0f, 1e-4f, 1e-9f, 1e-15f}) {
    CAPTURE(dark);
    std::vector<float> image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f);
    for (std::size_t v = 0; v < image.size() / 2; ++v) image[v] *= dark;
    const auto projector = on_gpu(grid, settings, StripCudaPath::automatic);
    const Buffer<float> x = Buffer<float>::from(image).to(Memory::device);
    const auto run = [&] {
      auto sum = Buffer<float>::zeros(Memory::device, grid.voxels());
      const EmTally tally = projector->em_step(there.view(), x.data(), sum.data());
      CHECK(tally.used == many.count);
      return sum.to_vector();
    };
    const std::vector<float> first = run();
    const std::vector<float> second = run();
    CHECK(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0);
    // An EM step distributes each event to the pixels as a whole; every copy of an event is rounded alike.
    CHECK(inner(image, first) == approx(static_cast<double>(many.count)).epsilon(2e-5));
    if (dark < 1e-4f) continue;  // darker, a single pixel at an ellipse's border decides about whole events
    std::vector<float> expected(image.size(), 0.0f), scaled(image.size()), actual(image.size());
    make_strip_reference(grid, settings)->em_step(few.view(), image.data(), expected.data());
    for (std::size_t v = 0; v < image.size(); ++v) {  // as an update has them
      scaled[v] = expected[v] * image[v];
      actual[v] = first[v] * image[v] / static_cast<float>(copies);
    }
    CHECK(rms_of_range(actual, scaled) < 2e-5);  // rounded alike in every copy of an event
  }
}

}  // namespace

TEST_CASE("strips on CUDA project as the reference does, every form by every path") {
  if (!gpu_or_skip()) return;
  for (const StripForm form : strip_forms) {
    CAPTURE(static_cast<int>(form));
    const StripSettings settings{.form = form};
    check_against_reference(paper_grid(), settings, events_of(settings, 2000));
  }
}

TEST_CASE("strips on CUDA: sigma that rises to the ends, gamma, additive terms, oblong pixels off the centre") {
  if (!gpu_or_skip()) return;
  StripSettings settings;
  settings.resolution.sigma_z_edge_rise = 0.1f;
  settings.resolution.gamma_per_mm2 = 2e-4f;
  Grid grid = Grid::centred(1, 50, 61, {4, 5, 3.7f});
  grid.origin_mm = grid.origin_mm + Vec3{0, 13, -21};
  EventBatch events = events_of(settings, 1000);
  events.additive = Buffer<float>(Memory::host, events.count);
  for (std::int64_t i = 0; i < events.count; ++i) events.additive[i] = i % 3 == 0 ? 1e-7f : 0.0f;
  for (const StripForm form : strip_forms) {
    CAPTURE(static_cast<int>(form));
    settings.form = form;
    check_against_reference(grid, settings, events);
  }
}

TEST_CASE("strips on CUDA: small pixels, images of odd sizes, two rows of an ellipse a lane") {
  if (!gpu_or_skip()) return;
  for (const StripForm form : strip_forms) {
    CAPTURE(static_cast<int>(form));
    StripSettings settings{.form = form};
    const EventBatch events = events_of(settings, 500);
    for (const Grid& grid : {Grid::centred(1, 87, 101, {3, 3, 3}), Grid::centred(1, 130, 150, {2, 2, 2}),
                             Grid::centred(1, 129, 151, {2, 2, 2}), Grid::centred(1, 97, 113, {2, 2.3f, 1.9f})}) {
      CAPTURE(grid.size[1]);
      CHECK(why_strips_are_slow(grid, settings).empty());
      check_against_reference(grid, settings, events);
    }
    settings.resolution.sigma_z_edge_rise = 0.1f;  // as measured
    Grid beside = Grid::centred(1, 111, 133, {2, 2, 2});
    beside.origin_mm = beside.origin_mm + Vec3{0, 17, -40};
    CHECK(why_strips_are_slow(beside, settings).empty());
    check_against_reference(beside, settings, events);
  }
}

TEST_CASE("strips on CUDA: pixels too small for the fast path, which says so, and an image beyond the strips") {
  if (!gpu_or_skip()) return;
  const StripSettings settings;
  const EventBatch events = events_of(settings, 200);
  const Grid odd = Grid::centred(1, 173, 201, {1.5f, 1.5f, 1.5f});
  const std::string why = why_strips_are_slow(odd, settings);
  CHECK_MESSAGE(why.find("an event's ellipse has up to 81 rows of 29 pixels (the fast path takes 64 of 25)") == 0, why);
  CHECK_MESSAGE(why.find("173 x 201 pixels need") != std::string::npos, why);
  check_against_reference(odd, settings, events);
  check_against_reference(Grid::centred(1, 260, 300, {1, 1, 1}), settings, events);
  CHECK_FALSE(why_strips_are_slow(Grid::centred(1, 300, 300, {4, 4, 4}), settings).empty());
  CHECK(
      why_strips_are_slow(Grid::centred(1, 300, 300, {4, 4, 4}), {.cuda_path = StripCudaPath::warp_per_event}).empty());
  check_against_reference(Grid::centred(1, 80, 90, {4, 4, 4}), settings, events);
  check_against_reference(Grid::centred(1, 1, 3, {4, 4, 4}), settings, events);
}

TEST_CASE("strips on CUDA: a box of more pixels than a float counts") {
  if (!gpu_or_skip()) return;
  const StripSettings settings{.form = StripForm::gaussian};
  const Grid grid = Grid::centred(1, 4096, 1024, {0.02f, 0.02f, 0.02f});
  const EventBatch events = events_of(settings, 3);
  const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f), values = random_numbers(events.count, 2, 0.5f, 1.5f);
  const Projections expected = project(*make_strip_reference(grid, settings), events, image, values);
  const auto projector = on_gpu(grid, settings, StripCudaPath::warp_per_event);
  const Projections here = project(*projector, events, image, values);
  CHECK(here.tally.used == expected.tally.used);
  CHECK(rms_of_range(here.back, expected.back) < 1e-6);
  for (std::size_t i = 0; i < here.forward.size(); ++i)
    CHECK(here.forward[i] == approx(expected.forward[i]).epsilon(1e-4));
}

TEST_CASE("strips on CUDA: an image of ten iterations is the reference's") {
  if (!gpu_or_skip()) return;
  for (const StripForm form : strip_forms) {
    CAPTURE(static_cast<int>(form));
    const StripSettings settings{.form = form};
    const EventBatch events = events_of(settings, 1000);
    for (const Grid& grid : {paper_grid(), Grid::centred(1, 131, 149, {2, 2, 2})}) {
      const auto expected = ten_iterations(*make_strip_reference(grid, settings), events);
      for (const StripCudaPath path : paths) {
        CAPTURE(static_cast<int>(path));
        CHECK(rms_of_range(ten_iterations(*on_gpu(grid, settings, path), events), expected) < 1e-5);
      }
    }
  }
}

TEST_CASE("strips on CUDA: events that are not finite or lie far outside touch nothing") {
  if (!gpu_or_skip()) return;
  constexpr double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const StripSettings settings;
  const std::vector<Response> strange = {{nan, 0, 0},  {0, nan, 0},  {0, 0, nan}, {infinite, 0, 0},  {0, -infinite, 0},
                                         {0, 0, 1e30}, {1e30, 0, 0}, {0, 0, 900}, {5000, 5000, 0.0}, {1e6, -1e6, 3e6}};
  const EventBatch events = strip_batch(settings.geometry, strange);
  const auto image = random_numbers(paper_grid().voxels(), 1, 0.5f, 1.5f);
  for (const StripCudaPath path : paths) {
    CAPTURE(static_cast<int>(path));
    const auto projector = on_gpu(paper_grid(), settings, path);
    const Projections here = project(*projector, events, image, std::vector<float>(strange.size(), 1.0f));
    CHECK(here.tally.used == 0);
    CHECK(here.tally.skipped == events.count);
    for (const auto* numbers : {&here.forward, &here.back, &here.em})
      for (const float number : *numbers) CHECK(number == 0);
    const Projections none = project(*projector, strip_batch(settings.geometry, {}), image, {});
    CHECK(none.tally.used == 0);
    CHECK(std::accumulate(none.em.begin(), none.em.end(), 0.0f) == 0);
  }
}

TEST_CASE(
    "strips on CUDA: sums in shared memory are the same bit for bit, also of ratios far apart and of many events") {
  if (!gpu_or_skip()) return;
  check_same_bits(paper_grid(), {.form = StripForm::gaussian});
  for (const StripForm form : {StripForm::gaussian, StripForm::full})
    check_same_bits(Grid::centred(1, 130, 150, {2, 2, 2}), {.form = form});
}
// SPDX-License-Identifier: Apache-2.0
