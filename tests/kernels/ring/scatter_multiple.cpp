// Scatter of more than one order, by Monte Carlo: another program's, single scatter of its own by another way, and a GPU
// against the CPU.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/ring/scatter/multiple_scatter.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/ring/scatter_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using tofstream::testing::MonteCarloCase, tofstream::testing::recorded_a_decay;

namespace {

ScatterSampling sampling_without_tof() {
  ScatterSampling sampling;
  sampling.lattice = {{33, 12, 5, 5, 1}, 20, 2 * MonteCarloCase::half / 4, 1, {}};
  return sampling;
}

ScatterSampling sampling_with_tof() {
  ScatterSampling sampling;
  sampling.lattice = {{17, 12, 3, 3, 41}, 40, MonteCarloCase::half, 20, {}};
  sampling.tof_sigma_mm = 20;
  return sampling;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

TEST_CASE("scatter of more than one order is a Monte Carlo program's, absolute and by distance from the axis") {
  // The coincidences of its decays with more than one scatter, by |s| in steps of 20 mm.
  const std::vector<double> counted = {915673, 877010, 802809, 697824, 569969, 436140,
                                       307121, 194405, 108538, 52174,  21262,  6945};
  constexpr double all_counted = 4992029;
  const MonteCarloCase here;
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    const bool is_gpu = backend == Backend::cuda;  // which follows sixteen times as many decays
    if (is_gpu && !gpu_or_skip()) continue;
    const std::int64_t batch = is_gpu ? 1 << 24 : 1 << 20;
    const MultipleScatter many = multiple_scatter(
        here.activity, here.mu, here.detectors, sampling_without_tof(),
        {.error = 0.01, .most_decays = 1, .batch_decays = batch, .radial_mm = 20, .axial_mm = 60}, backend);
    CHECK(many.decays == 8 * batch);
    CHECK(many.recorded > 0);
    const std::vector<double> by_distance = recorded_a_decay(many.estimate, 32);
    CHECK(sum_of(by_distance) == approx(all_counted / MonteCarloCase::decays).epsilon(0.03));
    for (std::size_t bin = 0; bin < 9; ++bin) {
      CAPTURE(bin);
      const double tolerance = is_gpu    ? (bin < 7 ? 0.03 : 0.06)
                               : bin < 5 ? 0.05
                                         : 0.1;  // by the number that was counted
      CHECK(by_distance[2 * bin] + by_distance[2 * bin + 1] ==
            approx(counted[bin] / MonteCarloCase::decays).epsilon(tolerance));
    }
  }
}

TEST_CASE("all orders less those of more than one are the single scatter that is computed by another way") {
  MonteCarloCase here;
  const ScatterSampling sampling = sampling_without_tof();
  const auto made = [&](int order) {
    return multiple_scatter(here.activity, here.mu, here.detectors, sampling,
                            {.from_order = order, .most_decays = 1, .batch_decays = 1 << 19, .radial_mm = 20})
        .estimate;
  };
  double with_all_stopped = 0;
  for (const float free_paths : {1e3f, 1.74f}) {  // 20 mm of LSO: scattered photons stop better than those of 511 keV
    CAPTURE(free_paths);
    here.detectors.crystal.back = free_paths;
    ScatterEstimate once = made(1);
    const ScatterEstimate many = made(2);
    for (std::size_t v = 0; v < once.values.size(); ++v) once.values[v] -= many.values[v];
    const auto found = recorded_a_decay(once, 32),
               expected =
                   recorded_a_decay(SingleScatter(here.mu, here.detectors).estimate(here.activity, sampling), 32);
    CHECK(sum_of(found) == approx(sum_of(expected)).epsilon(0.02));
    for (std::size_t bin = 0; bin < 10; ++bin) {
      CAPTURE(bin);
      CHECK(found[bin] == approx(expected[bin]).epsilon(0.04));
    }
    if (free_paths > 100)
      with_all_stopped = sum_of(expected);
    else  // at 435 keV 5 % more are stopped, at 511 none
      CHECK(sum_of(expected) / with_all_stopped == approx(1.025).epsilon(0.015));
  }
}

TEST_CASE("over ToF scatter of more than one order sums up to that without it, and lies where its photons fly") {
  const MonteCarloCase here;
  const ScatterSampling by_tof = sampling_with_tof();
  ScatterSampling whole = by_tof;
  whole.lattice.size[4] = 1;
  const MultipleScatterSettings settings{.error = 0.5, .most_decays = 1, .batch_decays = 1 << 16};
  const auto lines = multiple_scatter(here.activity, here.mu, here.detectors, whole, settings).estimate,
             spectra = multiple_scatter(here.activity, here.mu, here.detectors, by_tof, settings).estimate,
             summed = spectra.without_tof();
  double worst = 0;
  for (std::size_t v = 0; v < lines.values.size(); ++v)
    worst = std::max(worst, static_cast<double>(std::abs(summed.values[v] - lines.values[v])));
  CHECK(worst < 2e-3 * static_cast<double>(std::ranges::max(lines.values)));
  // The source lies at x = 40 mm. Seen along x (phi of 90 degrees, ends towards -x) it lies before the middle, and a
  // photon's detours add to its path: unscattered, ToF would be -40 mm.
  double sum = 0, first = 0;
  const int size = by_tof.lattice.size[0], angles = by_tof.lattice.size[1];
  for (int t = 0; t < 41; ++t) {
    const double value = static_cast<double>(
        spectra.values[static_cast<std::size_t>(size / 2 + size * (angles / 2 + angles * (1 + 3 * (1 + 3 * t))))]);
    sum += value;
    first += value * (t - 20) * 20;
  }
  CHECK(first / sum == approx(-40).epsilon(0.2));
}

TEST_CASE("a stated error of scatter of more than one order is that from seed to seed") {
  const MonteCarloCase here;
  const auto made = [&](std::uint64_t seed) {
    return multiple_scatter(here.activity, here.mu, here.detectors, sampling_without_tof(),
                            {.most_decays = 1, .batch_decays = 1 << 16, .seed = seed, .axial_mm = 240});
  };
  const MultipleScatter one = made(1), other = made(2);
  double apart = 0, square = 0;
  for (std::size_t v = 0; v < one.estimate.values.size(); ++v) {
    apart += std::pow(static_cast<double>(one.estimate.values[v] - other.estimate.values[v]), 2) / 2;
    square += std::pow(static_cast<double>(one.estimate.values[v]), 2);
  }
  CHECK(std::sqrt(apart / square) < 1.5 * one.relative_error);
  CHECK(std::sqrt(apart / square) > 0.3 * one.relative_error);  // samples between the counted ones have less
  CHECK(one.estimate.values == made(1).estimate.values);
}

TEST_CASE("scatter of more than one order on a GPU follows the CPU's decays, always to the same bits") {
  if (!gpu_or_skip()) return;
  const MonteCarloCase here;
  for (const ScatterSampling& sampling : {sampling_without_tof(), sampling_with_tof()}) {
    const auto made = [&](Backend backend) {
      return multiple_scatter(here.activity, here.mu, here.detectors, sampling,
                              {.error = 0.5, .most_decays = 1, .batch_decays = 1 << 16}, backend);
    };
    const MultipleScatter cpu = made(Backend::cpu), cuda = made(Backend::cuda);
    // A history that rounding turns another way is another history.
    CHECK(std::abs(static_cast<double>(cpu.recorded - cuda.recorded)) < 1e-3 * static_cast<double>(cpu.recorded));
    CHECK(testing::rms_of_range(cuda.estimate.values, cpu.estimate.values) < 1e-3);
    CHECK(testing::same_bits(made(Backend::cuda).estimate.values, cuda.estimate.values));
  }
}

TEST_CASE("what scatter of more than one order cannot be of is refused in one line") {
  const MonteCarloCase here;
  const auto refused = [&](const Image& activity, const MultipleScatterSettings& settings,
                           const ScatterSampling& sampling, const char* words) {
    CHECK_THROWS_WITH(multiple_scatter(activity, here.mu, here.detectors, sampling, settings),
                      doctest::Contains(words));
  };
  const ScatterSampling good = sampling_without_tof();
  refused(here.activity, {.from_order = 0}, good, "from_order cannot be 0");
  refused(here.activity, {.error = 0}, good, "error cannot be 0");
  refused(here.activity, {.most_decays = 0}, good, "most_decays cannot be 0");
  refused(Image::zeros(here.activity.grid), {}, good, "the image is empty");
  ScatterSampling flat = good;
  flat.lattice.size[2] = flat.lattice.size[3] = 1;
  refused(here.activity, {}, flat, "needs two across and along z");
  ScatterSampling wide = good;
  wide.lattice.radial_mm = 30;
  refused(here.activity, {}, wide, "with detectors at 400 mm");
}
// SPDX-License-Identifier: Apache-2.0
