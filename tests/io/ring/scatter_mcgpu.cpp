// Scatter against every coincidence of another program's Monte Carlo (MCGPU-PET, GitHub DIDSR/MCGPU-PET, commit
// dc122b2), as its histogram has them: absolute, per decay, nothing fitted but for tails.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numbers>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "gadgets/io/unpack.hpp"
#include "kernels/ring/scatter/multiple_scatter.hpp"
#include "tests/kernels/ring/scatter_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/interop.hpp"

using namespace tofstream;
using tofstream::testing::MonteCarloCase, tofstream::testing::for_each_line;

namespace {

constexpr int mc_views = 12, mc_distances = 64, mc_tofs = 27;
constexpr double mc_s_mm = 10, mc_tof_mm = 15, inside_mm = 150;

/// Counts by view, s and ToF, all z and obliqueness together, of unscattered coincidences, those with one scatter and
/// with more.
class McHistogram {
 public:
  explicit McHistogram(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> packed{std::istreambuf_iterator<char>(stream), {}};
    std::vector<std::byte> bytes(packed.size()), all;
    std::memcpy(bytes.data(), packed.data(), packed.size());
    const auto take = [&](Unpacker::Bytes&& piece) { all.insert(all.end(), piece.begin(), piece.end()); };
    Unpacker unpacker;
    unpacker.push(std::move(bytes), take);
    unpacker.finish(take);
    constexpr std::size_t of_z = 5 * 3, cells = std::size_t{3} * mc_views * mc_distances * mc_tofs;
    REQUIRE(all.size() == cells * of_z * sizeof(std::uint32_t));
    for (std::size_t cell = 0; cell < cells; ++cell) {
      std::uint32_t counts[of_z];
      std::memcpy(counts, all.data() + cell * sizeof counts, sizeof counts);
      counts_.push_back(std::accumulate(std::begin(counts), std::end(counts), 0.0));
    }
  }

  double at(int scatters, int view, int s, int tof) const {
    return counts_[static_cast<std::size_t>(((scatters * mc_views + view) * mc_distances + s) * mc_tofs + tof)];
  }
  /// A decay, within `to` mm of the axis and at least `from`.
  double recorded(int scatters, double from, double to) const {
    double sum = 0;
    for (int s = 0; s < mc_distances; ++s) {
      const double distance = std::abs((s + 0.5) * mc_s_mm - 0.5 * mc_distances * mc_s_mm);
      if (distance < from || distance > to) continue;
      for (int view = 0; view < mc_views; ++view)
        for (int tof = 0; tof < mc_tofs; ++tof) sum += at(scatters, view, s, tof);
    }
    return sum / MonteCarloCase::decays;
  }

 private:
  std::vector<double> counts_;
};

/// What an estimate of the case has recorded a decay between two distances from the axis. `pass`: with which
/// probability both unscattered photons pass the energy window, which an estimate has in its pairs' efficiencies.
struct Recorded {
  explicit Recorded(const ScatterEstimate& estimate, double pass) : by_distance(32) {
    for_each_line(320, 2, 12, 12, [&](const SinogramPlace& place, double counts) {
      by_distance[static_cast<std::size_t>(std::abs(place.s) / 10)] +=
          pass * counts * static_cast<double>(scatter_at(estimate, place));
    });
  }
  double between(int from, int to) const {
    return std::accumulate(by_distance.begin() + from / 10, by_distance.begin() + to / 10, 0.0);
  }
  std::vector<double> by_distance;
};

/// What a Gaussian about each point of a bin, evenly spread, puts into a bin so many further.
double spread_to(int bins, double sigma) {
  double sum = 0;
  constexpr int points = 64;
  for (int n = 0; n < points; ++n) {
    const double low = (bins - (n + 0.5) / points) * mc_tof_mm, unit = sigma * std::numbers::sqrt2;
    sum += 0.5 * (std::erf((low + mc_tof_mm) / unit) - std::erf(low / unit)) / points;
  }
  return sum;
}

double pass_of(const MonteCarloCase& of) {
  return std::pow(of.detectors.energy.share(electron_keV), 2);
}

}  // namespace

TEST_CASE("single scatter is MCGPU-PET's by distance, and with tails or more orders all of its scatter") {
  const std::filesystem::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  const McHistogram counted(folder / "scatter" / "mcgpu_offcentre" / "histogram.u32.gz");
  const MonteCarloCase here;
  CHECK(counted.recorded(1, 0, 320) * MonteCarloCase::decays == approx(29197614.0));
  const auto single_on = [&](const ScatterEstimate& lattice) {
    const ScatterEstimate made = SingleScatter(here.mu, here.detectors).estimate(here.activity, {.lattice = lattice});
    return Recorded(made, pass_of(here));
  };
  // It falls steeply beyond the body, where linear interpolation is as good as its samples are close. One in a
  // hundred of the other program's is of coherent scatter, under the source.
  const Recorded close = single_on({{65, 6, 5, 5, 1}, 5, 2 * MonteCarloCase::half / 4, 1, {}});
  for (int from = 0; from < 150; from += 10) {
    CAPTURE(from);
    CHECK(close.between(from, from + 10) == approx(counted.recorded(1, from, from + 10)).epsilon(0.04));
  }
  // At the samples of a run, 20 mm apart, the last two are 5 and 11 % too high.
  const ScatterEstimate as_in_runs{{27, 6, 5, 5, 1}, 20, 2 * MonteCarloCase::half / 4, 1, {}};
  const Recorded single = single_on(as_in_runs);
  CHECK(single.between(0, 320) == approx(counted.recorded(1, 0, 320)).epsilon(0.02));
  for (int from = 0; from < 130; from += 10)
    CHECK(single.between(from, from + 10) == approx(counted.recorded(1, from, from + 10)).epsilon(0.04));

  const auto all_counted = [&](double from, double to) {
    return counted.recorded(1, from, to) + counted.recorded(2, from, to);
  };
  const MultipleScatter all =
      multiple_scatter(here.activity, here.mu, here.detectors, {.lattice = as_in_runs},
                       {.from_order = 1, .most_decays = 1, .batch_decays = 1 << 17, .radial_mm = 20});
  CHECK(Recorded(all.estimate, pass_of(here)).between(0, 320) == approx(all_counted(0, 320)).epsilon(0.03));
  // Where tails are, 20 to 120 mm beside the body, the other orders are half as many as single scatter: wider. The
  // factor that is asked for there makes 14 % too much of all scatter, where 5 % were hoped for.
  const double factor = all_counted(120, 220) / single.between(120, 220);
  CHECK(factor * single.between(0, 320) == approx(1.14 * all_counted(0, 320)).epsilon(0.02));
}

TEST_CASE("the ToF of single scatter is MCGPU-PET's, bin by bin and at every distance from the axis") {
  const std::filesystem::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  const McHistogram counted(folder / "scatter" / "mcgpu_offcentre" / "histogram.u32.gz");
  const MonteCarloCase here;
  ScatterSampling sampling{.lattice = {{17, 24, 4, 4, mc_tofs}, 20, 2 * MonteCarloCase::half / 3, mc_tof_mm, {}},
                           .tof_sigma_mm = 7.5};
  const ScatterEstimate estimate = SingleScatter(here.mu, here.detectors).estimate(here.activity, sampling);
  const double pass = pass_of(here);
  constexpr int inside = static_cast<int>(2 * inside_mm / mc_s_mm);
  // [view][s][ToF]; the histogram's ends and signs for directions of [0, pi).
  std::vector<double> found(static_cast<std::size_t>(mc_views * inside * mc_tofs)), expected = found;
  for_each_line(inside_mm, 5, 24, 4, [&](const SinogramPlace& at, double counts) {
    const bool is_turned = at.phi >= 0.5 * std::numbers::pi;
    const double alpha = static_cast<double>(at.phi) + (is_turned ? -0.5 : 0.5) * std::numbers::pi;
    const double s = (is_turned ? 1 : -1) * static_cast<double>(at.s);
    const auto view = static_cast<int>(alpha / std::numbers::pi * mc_views),
               row = static_cast<int>((s + inside_mm) / mc_s_mm);
    SinogramPlace place = at;
    constexpr int parts = 2;
    for (int n = 0; n < parts * mc_tofs; ++n) {
      const double tof = ((n + 0.5) / parts - 0.5 * mc_tofs) * mc_tof_mm;
      place.tof = static_cast<float>(is_turned ? -tof : tof);
      found[static_cast<std::size_t>((view * inside + row) * mc_tofs + n / parts)] +=
          pass * counts * mc_tof_mm / parts * static_cast<double>(scatter_at(estimate, place));
    }
  });
  std::vector<double> spread;
  for (int bins = 0; bins < mc_tofs; ++bins) spread.push_back(spread_to(bins, sampling.tof_sigma_mm));
  for (int view = 0; view < mc_views; ++view)
    for (int s = 0; s < inside; ++s)
      for (int from = 0; from < mc_tofs; ++from)
        for (int to = 0; to < mc_tofs; ++to)
          expected[static_cast<std::size_t>((view * inside + s) * mc_tofs + to)] +=
              counted.at(1, view, s + (mc_distances - inside) / 2, from) / MonteCarloCase::decays *
              spread[static_cast<std::size_t>(std::abs(to - from))];
  const double all = std::accumulate(expected.begin(), expected.end(), 0.0);
  for (int tof = 0; tof < mc_tofs; ++tof) {
    double here_sum = 0, there = 0;
    for (int line = 0; line < mc_views * inside; ++line) {
      here_sum += found[static_cast<std::size_t>(line * mc_tofs + tof)];
      there += expected[static_cast<std::size_t>(line * mc_tofs + tof)];
    }
    CAPTURE(tof);
    // Into the outermost bins, which have one in a hundred together, voxels and samples spread what falls steeply.
    if (there > 0.01 * all) CHECK(here_sum == approx(there).epsilon(0.03));
  }
  for (int view = 0; view < mc_views; ++view)
    for (int s = 0; s < inside; ++s) {
      double sums[2] = {}, firsts[2] = {};
      for (int tof = 0; tof < mc_tofs; ++tof) {
        const auto n = static_cast<std::size_t>((view * inside + s) * mc_tofs + tof);
        const double at = (tof + 0.5 - 0.5 * mc_tofs) * mc_tof_mm;
        sums[0] += found[n], firsts[0] += found[n] * at;
        sums[1] += expected[n], firsts[1] += expected[n] * at;
      }
      constexpr double enough = 100;  // counts: the mean's error is 1.2 mm
      if (sums[1] * MonteCarloCase::decays < enough) continue;
      CAPTURE(view);
      CAPTURE(s);
      CHECK(std::abs(firsts[0] / sums[0] - firsts[1] / sums[1]) < 3);
    }
}
// SPDX-License-Identifier: Apache-2.0
