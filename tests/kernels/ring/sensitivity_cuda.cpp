// Sensitivity on CUDA against the CPU: the same pairs, bit for bit, and the same image.
#include <cmath>
#include <functional>

#include "kernels/analysis/compare.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/pair_batch.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

/// All pairs, drawn ones and a lattice.
std::vector<detail::PairSample> samples_of(std::int64_t pairs) {
  detail::PairSample lattice{.pairs = pairs, .replicates = 2, .seed = 5, .lattice = {.step = 6, .multiplier = 2}};
  lattice.cells = 2 * lattice.lattice_cells();
  return {{pairs, pairs, 1, 1}, {pairs, pairs / 4 / 7 * 7, 7, 5}, lattice};
}

/// The same pairs on the CPU and CUDA, with images that many lines miss.
void check_draws(const Scanner& scanner, const Grid& grid) {
  const detail::PairList here(scanner), there(scanner, Memory::device);
  REQUIRE(here.size() == there.size());
  const detail::Reach reach(grid, 0);
  for (const detail::PairSample& sample : samples_of(here.size())) {
    const std::int64_t draws = sample.draws(), begin = draws / 3;
    detail::PairBatch on_cpu(draws, Memory::host, nullptr), on_gpu(draws, Memory::device, nullptr);
    for (int replicate = 0; replicate < sample.replicates; ++replicate) {
      on_cpu.draw({here.view(), sample, reach, replicate}, begin, draws);
      on_gpu.draw({there.view(), sample, reach, replicate}, begin, draws);
      CHECK(on_cpu.count() > 0);
      CHECK(on_cpu.count() < draws - begin);
      REQUIRE(on_cpu.count() == on_gpu.count());
      const auto host_copy = [&](const auto* device) {
        std::vector<std::remove_cvref_t<decltype(*device)>> copy(static_cast<std::size_t>(on_gpu.count()));
        detail::copy(copy.data(), Memory::host, device, Memory::device, copy.size() * sizeof copy[0], nullptr);
        synchronize(nullptr);
        return copy;
      };
      const EventView a = on_cpu.events(here.view().detectors), b = on_gpu.events(there.view().detectors);
      const auto detector1 = host_copy(b.detector1), detector2 = host_copy(b.detector2);
      CHECK(std::equal(detector1.begin(), detector1.end(), a.detector1));
      CHECK(std::equal(detector2.begin(), detector2.end(), a.detector2));
      const auto values = host_copy(static_cast<const float*>(on_gpu.values()));
      double worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(values[i] / on_cpu.values()[i]) - 1));
      CHECK(worst < 1e-5);
    }
  }
}

using MakeOn = std::function<std::unique_ptr<ListModeProjector>(Backend)>;

void check_images(const Scanner& scanner, const MakeOn& make, const Image* mu) {
  for (const bool exact : {true, false}) {
    SensitivitySettings settings;
    if (!exact) settings.exact_pairs = 0;
    if (!exact) settings.sampled_pairs = 400;
    settings.batch_pairs = exact ? 5000 : 70;
    const Sensitivity expected = compute_sensitivity(scanner, *make(Backend::cpu), settings, mu);
    const Sensitivity actual = compute_sensitivity(scanner, *make(Backend::cuda), settings, mu);
    CHECK(actual.exact == exact);
    CHECK(actual.pairs == expected.pairs);
    CHECK(actual.projected == expected.projected);
    CHECK(actual.relative_error == approx(expected.relative_error).epsilon(1e-3));
    CHECK(actual.symmetries == expected.symmetries);
    CHECK(compare(actual.image, expected.image).nrms < 1e-6);
    if (exact) continue;
    CHECK(compare(actual.noise.held_out, expected.noise.held_out).nrms < 1e-6);
    CHECK(compare(actual.noise.variance, expected.noise.variance).nrms < 1e-4);
  }
}

}  // namespace

TEST_CASE("CUDA draws the same pairs as the CPU, with the same efficiencies") {
  if (!gpu_or_skip()) return;
  const Grid off_centre = {{5, 9, 7}, {2, 2, 5}, {12, -8, -15}};
  for (const std::uint32_t energies : {1u, 2u}) check_draws(testing::toy_scanner(energies, 1), off_centre);
  check_draws(*make_scanner(testing::two_layer_ring()), off_centre);
}

TEST_CASE("sensitivity on CUDA equals the CPU's, with and without attenuation") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(30, 28, 18, {2, 2, 2.5f});
  const Image mu = testing::cylinder_mu({{9, 7, 3}, {11, 13, 20}, {-35, -50, -15}}, 25);
  // By default so few lines take the direct path; those of a whole scanner go by tiles.
  for (const CudaPath path : {CudaPath::automatic, CudaPath::tiled}) {
    CAPTURE(static_cast<int>(path));
    const MakeOn joseph = [&](Backend backend) { return make_joseph_projector(grid, {.cuda_path = path}, backend); };
    const MakeOn tor = [&](Backend backend) {
      return make_tor_projector(grid, {.response = RadialResponse::gaussian(2.6f, 3), .cuda_path = path}, backend);
    };
    for (const Scanner& scanner : {testing::toy_scanner(), *make_scanner(testing::two_layer_ring())})
      for (const MakeOn& make : {joseph, tor})
        for (const Image* attenuation : {static_cast<const Image*>(nullptr), &mu})
          check_images(scanner, make, attenuation);
  }
}

TEST_CASE("an even choice of pairs on CUDA gives the CPU's sensitivity and error") {
  if (!gpu_or_skip()) return;
  const auto scanner = make_scanner(testing::ring_of_small_blocks());
  const Grid grid = Grid::centred(40, 40, 12, {4, 4, 4});
  const Image mu = testing::cylinder_mu(Grid::centred(20, 20, 8, {10, 10, 10}), 90);
  const SensitivitySettings settings{.exact_pairs = detail::PairList(*scanner).size() / 28, .error = 0.5};
  for (const Image* attenuation : {static_cast<const Image*>(nullptr), &mu}) {
    const auto made = [&](Backend backend) {
      return compute_sensitivity(*scanner, *make_joseph_projector(grid, {}, backend), settings, attenuation);
    };
    const Sensitivity here = made(Backend::cpu), there = made(Backend::cuda);
    REQUIRE(here.is_lattice);
    CHECK(there.is_lattice);
    CHECK(there.projected == here.projected);
    CHECK(there.relative_error == approx(here.relative_error).epsilon(1e-3));
    CHECK(compare(there.image, here.image).nrms < 1e-6);
  }
}

TEST_CASE("CUDA takes the same bias from a back projection as the CPU, with the same bits each time") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(61, 53, 47, {2, 2, 2});
  const auto random = [&](std::uint64_t seed, float low, float high) {
    return Image{grid, Buffer<float>::from(testing::random_numbers(grid.voxels(), seed, low, high))};
  };
  const Image sensitivity = random(1, 0.5f, 1), estimate = random(2, 0, 9), start = random(3, 0, 2);
  const SampleNoise here{random(4, 0.51f, 1.02f), random(5, 0, 0.01f)};
  const SampleNoise there{here.held_out.to(Memory::device), here.variance.to(Memory::device)};
  Image expected = start.to(Memory::host);
  const double updates = remove_sample_bias(here, sensitivity, estimate, expected);
  CHECK(updates == approx(4).epsilon(0.1));  // 2 % of a mean variance of 0.5 %
  std::vector<float> first;
  for (int repeat = 0; repeat < 3; ++repeat) {
    Image back = start.to(Memory::device);
    CHECK(remove_sample_bias(there, sensitivity.to(Memory::device), estimate.to(Memory::device), back) ==
          approx(updates).epsilon(1e-12));
    CHECK(compare(back.to(Memory::host), expected).max_abs < 1e-6);
    if (repeat == 0) first = back.voxels.to_vector();
    CHECK(back.voxels.to_vector() == first);
  }
}
// SPDX-License-Identifier: Apache-2.0
