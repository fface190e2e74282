// Events for which the GPU has no room give the same projections, bit for bit, as events that lie there.
#include <cstring>
#include <span>

#include "core/testing.hpp"
#include "gadgets/additive.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

const Grid grid = Grid::centred(60, 60, 20, {4, 4, 4});

std::shared_ptr<const Scanner> long_scanner() {
  return make_scanner({.inner_radius_mm = 200,
                       .modules_transaxial = 12,
                       .modules_axial = 2,
                       .crystals_transaxial = 8,
                       .crystals_axial = 8,
                       .module_pitch_axial_mm = 32,
                       .tof_fwhm_ps = 300,
                       .tof_bins = 41,
                       .tof_bin_ps = 50,
                       .min_sector_difference = 2});
}

/// Batches of two kinds, so that a subset has more than one after they are joined.
std::vector<EventBatch> batches() {
  const auto measured_by = long_scanner();
  std::vector<EventBatch> all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    all.push_back(random_pairs(measured_by, grid, 40'000, seed));
    if (seed % 2 == 0) all.back().additive = Buffer<float>::zeros(Memory::host, all.back().count);
  }
  return all;
}

/// The back projections of two iterations of three subsets, with the events stored as the parameters say.
std::vector<std::vector<float>> back_projections(const std::string& kept) {
  RegisteredGadgetTest<EventSubset> builder("subset_builder",
                                            "{subsets: 3, iterations: 2, backend: cuda, " + kept + "}");
  for (auto& batch : batches()) builder.send(std::move(batch));
  builder.finish();
  RegisteredGadgetTest<Projected> projector(
      "joseph_projector",
      "{backend: cuda, deterministic: true, sensitivity: {cache: false, sampled_pairs: 1000, exact_pairs: 0}}");
  const auto estimate = std::make_shared<const Estimate>(
      Estimate{{.iteration = 0}, std::make_shared<const Image>(Image::filled(grid, 1, Memory::device))});
  std::vector<std::vector<float>> result;
  const auto subsets = builder.out.all();
  REQUIRE(subsets.size() == 7);
  CHECK(subsets.front()->batches.empty());  // it announces the scanner
  for (const auto& subset : std::span(subsets).subspan(1)) {
    CHECK(subset->batches.size() == 2);
    projector.send(subset, estimate, std::shared_ptr<const Additive<EventBatch>>());
    result.push_back(projector.out.all().back()->back_projection->voxels.to_vector());
  }
  return result;
}

}  // namespace

TEST_CASE("events that come from pinned memory or from disk give the same back projections as those on the GPU") {
  if (!gpu_or_skip()) return;
  const auto expected = back_projections("device_reserve_gib: 0.1");
  REQUIRE(expected.size() == 6);
  for (const char* kept : {"device_reserve_gib: 1e6", "device_reserve_gib: 1e6, host_reserve_gib: 1e6"}) {
    CAPTURE(kept);
    const auto actual = back_projections(kept);
    REQUIRE(actual.size() == 6);
    for (std::size_t s = 0; s < 6; ++s)
      CHECK(std::memcmp(actual[s].data(), expected[s].data(), expected[s].size() * sizeof(float)) == 0);
    CHECK(expected[0] == expected[3]);
  }
}
// SPDX-License-Identifier: Apache-2.0
