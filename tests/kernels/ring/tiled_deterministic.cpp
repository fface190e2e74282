// Projections on CUDA that do not depend on the order of additions: the same bit for bit at every call, and in
// agreement with the CPU's.
#include <cstring>

#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

using MakeTiled = std::unique_ptr<ListModeProjector> (*)(const Grid&, Backend, bool);

std::unique_ptr<ListModeProjector> joseph(const Grid& grid, Backend backend, bool deterministic) {
  return make_joseph_projector(grid, {.deterministic = deterministic}, backend);
}
std::unique_ptr<ListModeProjector> tor(const Grid& grid, Backend backend, bool deterministic) {
  return make_tor_projector(grid, {.response = RadialResponse::gaussian(5.16f, 6), .deterministic = deterministic},
                            backend);
}

/// Random lines through W1's image; every seventh has an additive term.
EventBatch lines(std::int64_t count, bool tof) {
  EventBatch events = random_lors(find_workload("W1"), count, 5);
  if (!tof) events.tof_mm = {};
  events.additive = Buffer<float>(Memory::host, count);
  for (std::int64_t i = 0; i < count; ++i) events.additive[i] = i % 7 == 0 ? 2.0f : 0.0f;
  return events;
}

/// Half of the image bright and half of it dark, so that some ratios lie far above the others.
std::vector<float> two_halves(const Grid& grid) {
  std::vector<float> image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f);
  for (std::size_t v = 0; v < image.size() / 2; ++v) image[v] *= 1e-4f;
  return image;
}

/// Values of which the first few are so many times the others: at voxels to which the few give nothing, the others must
/// be added up as if they were alone.
struct FewLarge {
  static constexpr std::size_t few = 20;
  std::vector<float> all, large;

  FewLarge(std::int64_t count, float factor) : all(random_numbers(count, 3, 0.5f, 1.5f)) {
    large.assign(all.size(), 0);
    for (std::size_t i = 0; i < few; ++i) large[i] = all[i] *= factor;
  }
  /// Voxels of `back` where the large values' back projection is 0.
  static std::vector<float> elsewhere(const std::vector<float>& back, const std::vector<float>& of_large) {
    std::vector<float> kept;
    for (std::size_t v = 0; v < back.size(); ++v)
      if (of_large[v] == 0) kept.push_back(back[v]);
    return kept;
  }
};

}  // namespace

TEST_CASE("deterministic projections on CUDA are the same bit for bit, and those of the CPU") {
  if (!gpu_or_skip()) return;
  const Grid grid = find_workload("W1").grid;
  const std::vector<float> image = two_halves(grid);
  struct Case {
    MakeTiled make;
    double rms;  // a voxel at the tube's wall may be inside for one and outside for the other
  };
  for (const auto& [make, rms] : {Case{joseph, 2e-6}, Case{tor, 1e-5}})
    for (const bool tof : {true, false}) {
      CAPTURE(tof);
      const EventBatch events = lines(40'000, tof);
      const auto values = random_numbers(events.count, 2, -0.5f, 1.5f);
      const auto projector = make(grid, Backend::cuda, true);
      const Projections first = project(*projector, events, image, values);
      for (int run = 1; run < 5; ++run) {
        const Projections again = project(*projector, events, image, values);
        CHECK(same_bits(again.em, first.em));
        CHECK(same_bits(again.back, first.back));
      }
      const Projections expected = project(*make(grid, Backend::cpu, false), events, image, values);
      CHECK(first.tally.used == expected.tally.used);
      CHECK(rms_of_range(first.em, expected.em) < rms);
      CHECK(rms_of_range(first.back, expected.back) < rms);
      CHECK(inner(first.forward, values) == approx(inner(image, first.back)).epsilon(1e-5));
    }
}

TEST_CASE(
    "deterministic projections of events with ToF bins of their own are the same bit for bit, on CUDA's direct path") {
  if (!gpu_or_skip()) return;
  const Grid grid = find_workload("W1").grid;
  EventBatch events = lines(20'000, true);
  events.tof_width_mm = Buffer<float>(Memory::host, events.count);
  for (std::int64_t i = 0; i < events.count; ++i) events.tof_width_mm[i] = i % 2 == 0 ? 10.0f : 12.0f;
  const auto image = two_halves(grid);
  auto values = random_numbers(events.count, 2, -0.5f, 1.5f);
  for (std::size_t i = 0; i < values.size(); i += 5) values[i] *= i % 2 == 0 ? 1e-15f : 1e15f;  // several bands
  for (const MakeTiled make : {joseph, tor}) {
    const Projections first = project(*make(grid, Backend::cuda, true), events, image, values);
    for (int run = 1; run < 4; ++run) {
      const Projections again = project(*make(grid, Backend::cuda, true), events, image, values);
      CHECK(same_bits(again.em, first.em));
      CHECK(same_bits(again.back, first.back));
    }
    const Projections expected = project(*make(grid, Backend::cpu, false), events, image, values);
    CHECK(first.tally.used == expected.tally.used);
    CHECK(first.tally.skipped == expected.tally.skipped);
    CHECK(first.tally.log_sum == approx(expected.tally.log_sum).epsilon(1e-5));
    CHECK(rms_of_range(first.em, expected.em) < 1e-5);
    CHECK(rms_of_range(first.back, expected.back) < 1e-5);
  }
}

TEST_CASE("bands of exponents on CUDA's direct path: each adds up its own values") {
  if (!gpu_or_skip()) return;
  const Grid grid = find_workload("W1").grid;
  EventBatch events = lines(2'000, true);
  events.tof_width_mm = Buffer<float>(Memory::host, events.count);
  for (std::int64_t i = 0; i < events.count; ++i) events.tof_width_mm[i] = 10;
  const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f);
  for (const MakeTiled make : {joseph, tor}) {
    const auto cpu = make(grid, Backend::cpu, false), cuda = make(grid, Backend::cuda, true);
    for (const float factor : {1e4f, 1e8f, 1e15f, 1e25f}) {
      CAPTURE(factor);
      const FewLarge values(events.count, factor);
      const auto of_large = project(*cpu, events, image, values.large).back;
      const auto expected = FewLarge::elsewhere(project(*cpu, events, image, values.all).back, of_large);
      const auto found = FewLarge::elsewhere(project(*cuda, events, image, values.all).back, of_large);
      CHECK(expected.size() > of_large.size() / 4);
      CHECK(rms_of_range(found, expected) < 1e-5);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
