// Sensitivity on CUDA against the CPU: the same pairs, bit for bit, and the same image.
#include <cmath>
#include <functional>

#include "kernels/analysis/compare.hpp"
#include "kernels/project/joseph/joseph.hpp"
#include "kernels/project/tor/tor.hpp"
#include "kernels/sensitivity/pair_batch.hpp"
#include "kernels/sensitivity/sensitivity.hpp"
#include "kernels/simulate/ring_scanner.hpp"
#include "tests/kernels/sensitivity_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

/// Closed-form efficiencies, two layers: as eXplore Vista, with fewer crystals.
RingScanner small_ring() {
  RingScanner ring;
  ring.inner_radius_mm = 59;
  ring.modules_transaxial = 18;
  ring.modules_axial = 2;
  ring.crystals_transaxial = 4;
  ring.crystals_axial = 4;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 5;
  ring.module_pitch_axial_mm = 25.7;
  ring.layers = {{7, 0.83}, {8, 0.7}};
  ring.min_sector_difference = 6;
  return ring;
}

detail::PairSample sample_of(const detail::PairList& list, bool exact) {
  return exact ? detail::PairSample{list.size(), list.size(), 1, 1}
               : detail::PairSample{list.size(), list.size() / 4 / 8 * 8, 8, 5};
}

/// What the CPU and CUDA draw; images that many lines miss.
void check_draws(const Scanner& scanner, const Grid& grid) {
  const detail::PairList here(scanner), there(scanner, Memory::device);
  REQUIRE(here.size() == there.size());
  const detail::Reach reach(grid, 0);
  for (const bool exact : {true, false}) {
    const detail::PairSample sample = sample_of(here, exact);
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

using Make = std::function<std::unique_ptr<Projector>(Backend)>;

void check_images(const Scanner& scanner, const Make& make, const Image* mu) {
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
    CHECK(actual.relative_error == doctest::Approx(expected.relative_error).epsilon(1e-3));
    CHECK(compare(actual.image, expected.image).nrms < 1e-6);
  }
}

}  // namespace

TEST_CASE("CUDA draws the same pairs as the CPU, with the same efficiencies") {
  if (!gpu_or_skip()) return;
  const Grid off_centre = {{5, 9, 7}, {2, 2, 5}, {12, -8, -15}};
  for (const std::uint32_t energies : {1u, 2u}) check_draws(testing::toy_scanner(energies, 1), off_centre);
  check_draws(*make_scanner(small_ring()), off_centre);
}

TEST_CASE("sensitivity on CUDA equals the CPU's, with and without attenuation") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(30, 28, 18, {2, 2, 2.5f});
  const Image mu = testing::cylinder_mu({{9, 7, 3}, {11, 13, 20}, {-35, -50, -15}}, 25);
  // So few lines go the direct path by default, those of a whole scanner by tiles.
  for (const CudaPath path : {CudaPath::automatic, CudaPath::tiled}) {
    CAPTURE(static_cast<int>(path));
    const Make joseph = [&](Backend backend) { return make_joseph_projector(grid, {.cuda_path = path}, backend); };
    const Make tor = [&](Backend backend) {
      return make_tor_projector(grid, {.response = RadialResponse::gaussian(2.6f, 3), .cuda_path = path}, backend);
    };
    for (const Scanner& scanner : {testing::toy_scanner(), *make_scanner(small_ring())})
      for (const Make& make : {joseph, tor})
        for (const Image* attenuation : {static_cast<const Image*>(nullptr), &mu})
          check_images(scanner, make, attenuation);
  }
}
