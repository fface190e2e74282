// A lattice of pairs of detectors: how evenly it covers an image, that it has every pair as often, and what happens where
// it does not suffice.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/analysis/compare.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/pair_lattice.hpp"
#include "kernels/ring/sensitivity/pair_lines.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// A module for each crystal.
RingScanner ring_of_single_crystals() {
  RingScanner ring = ring_of_blocks();
  ring.modules_transaxial = 24 * 8;
  ring.modules_axial = 2;
  ring.crystals_transaxial = ring.crystals_axial = 1;
  ring.min_sector_difference = 40;
  return ring;
}

const Grid in_the_ring = Grid::centred(40, 40, 12, {4, 4, 4});

double error_of(const Sensitivity& coarse, const Image& exact) {
  double squares = 0;
  for (const float v : exact.voxels.span()) squares += static_cast<double>(v) * static_cast<double>(v);
  return compare(coarse.image, exact).rms / std::sqrt(squares / static_cast<double>(exact.voxels.size()));
}

struct CoarseSums {
  Sensitivity lattice, drawn;
  double lattice_error, drawn_error;  // RMS deviation from all pairs over the RMS
};

/// Sums over a twelfth of all pairs or less, evenly chosen, and over as many drawn at random.
CoarseSums coarse_sums(const Scanner& scanner, const Image* mu = nullptr) {
  const auto projector = make_joseph_projector(in_the_ring, {}, Backend::cpu);
  const Image exact = compute_sensitivity(scanner, *projector, {.exact_pairs = std::int64_t{1} << 40}, mu).image;
  const std::int64_t pairs = detail::PairList(scanner).size();
  SensitivitySettings settings{.exact_pairs = pairs / 12, .error = 0.5, .symmetric = false};
  CoarseSums result{.lattice = compute_sensitivity(scanner, *projector, settings, mu)};
  settings = {.exact_pairs = 0, .error = 1e-6, .symmetric = false, .replicate_pairs = result.lattice.drawn / 8};
  settings.sampled_pairs = 8 * settings.replicate_pairs;
  result.drawn = compute_sensitivity(scanner, *projector, settings, mu);
  result.lattice_error = error_of(result.lattice, exact);
  result.drawn_error = error_of(result.drawn, exact);
  return result;
}

void check_pairs(const CoarseSums& sums) {
  REQUIRE(sums.lattice.is_lattice);
  REQUIRE(!sums.drawn.is_lattice);
  CHECK(!sums.lattice.exact);
  CHECK(sums.lattice.noise.empty());
  CHECK(sums.drawn.random_lines == static_cast<double>(sums.drawn.projected));
  // As many random lines would leave its error.
  CHECK(sums.drawn_error * std::sqrt(sums.drawn.random_lines / sums.lattice.random_lines) ==
        approx(sums.lattice_error).epsilon(0.4));
  CHECK(sums.lattice.drawn < sums.lattice.pairs / 12);
  CHECK(static_cast<double>(sums.drawn.drawn) == approx(static_cast<double>(sums.lattice.drawn)).epsilon(0.01));
}

}  // namespace

TEST_CASE(
    "an even choice of pairs is nearer to the sum over all than as many drawn ones, and states no less than its "
    "error") {
  for (const auto& [ring, better] : {std::pair{ring_of_blocks(), 2.5}, {ring_of_small_blocks(), 2.0}}) {
    const CoarseSums sums = coarse_sums(*make_scanner(ring));
    check_pairs(sums);
    MESSAGE("lattice ", sums.lattice_error, " (stated ", sums.lattice.relative_error, "), drawn ", sums.drawn_error);
    CHECK(sums.lattice_error < sums.drawn_error / better);
    CHECK(sums.lattice_error == approx(sums.lattice.relative_error).epsilon(0.3));
  }
}

TEST_CASE("crystals of unlike efficiency and a body leave an even choice of pairs nearer than drawn ones") {
  RingScanner ring = ring_of_blocks();
  ring.crystal_efficiency_spread = 0.4;
  const Image mu = cylinder_mu(Grid::centred(20, 20, 8, {10, 10, 10}), 90);
  const CoarseSums sums = coarse_sums(*make_scanner(ring), &mu);
  check_pairs(sums);
  MESSAGE("lattice ", sums.lattice_error, " (stated ", sums.lattice.relative_error, "), drawn ", sums.drawn_error);
  CHECK(sums.lattice_error < sums.drawn_error / 2.5);
  CHECK(sums.lattice_error == approx(sums.lattice.relative_error).epsilon(0.3));
}

TEST_CASE("the replicates of a lattice have every pair once, of modules of many crystals and of one") {
  for (const RingScanner& ring : {two_layer_ring(), ring_of_single_crystals()}) {
    const auto scanner = make_scanner(ring);
    const detail::PairList list(*scanner);
    detail::PairSample sample{.pairs = list.size(), .seed = 3, .lattice = {.step = 14, .multiplier = 3}};
    sample.replicates = sample.lattice.step;  // every shift
    std::vector<int> seen(static_cast<std::size_t>(list.size()));
    for (int replicate = 0; replicate < sample.replicates; ++replicate) {
      detail::PairCursor cursor(list.view());
      for (std::int64_t cell = 0; cell < sample.lattice_cells(); ++cell)
        if (const std::int64_t pair = sample.lattice_pair(cursor, replicate, 0, cell); pair < list.size())
          ++seen[static_cast<std::size_t>(pair)];
    }
    CHECK(std::ranges::count(seen, 1) == std::ssize(seen));
  }
}

TEST_CASE("a lattice has a prime step; there is none of all pairs, of too few, or where it covers no better") {
  const auto scanner = make_scanner(ring_of_blocks());
  const std::int64_t pairs = detail::PairList(*scanner).size();
  const auto prime_of = [&](std::int64_t most, std::int64_t places = 1) {
    const detail::PairSample sample =
        detail::choose_lattice(*scanner, {.most = most, .places = places, .grid = in_the_ring}).sample;
    return sample.lattice.step / detail::lattice_replicates;
  };
  CHECK(prime_of(pairs) == 0);
  const auto is_prime_between = [](std::int64_t prime, std::int64_t least, std::int64_t most) {
    return detail::prime_from(prime) == prime && prime >= least && prime <= most;
  };
  CHECK(is_prime_between(prime_of(pairs - 1), 2, 5));
  CHECK(is_prime_between(prime_of(pairs / 8), 8, 20));
  CHECK(is_prime_between(prime_of(pairs, 3), 3, 7));
  CHECK(is_prime_between(prime_of(pairs / 61 + 1), 61, 61));
  CHECK(prime_of(pairs / 62) == 0);
  CHECK(prime_of(0) == 0);
  const auto of_ones = make_scanner(ring_of_single_crystals());
  const std::int64_t all = detail::PairList(*of_ones).size();
  CHECK(!detail::choose_lattice(*of_ones, {.most = all / 7, .grid = in_the_ring}).sample.is_lattice());
}

TEST_CASE("where an even choice of pairs has a larger error than was asked for, pairs are drawn until it is reached") {
  const auto scanner = make_scanner(two_layer_ring());
  const auto projector = make_joseph_projector(in_the_ring, {}, Backend::cpu);
  const std::int64_t pairs = detail::PairList(*scanner).size();
  SensitivitySettings settings{.exact_pairs = pairs / 30, .error = 0.9, .symmetric = false, .replicate_pairs = 500};
  const Sensitivity coarse = compute_sensitivity(*scanner, *projector, settings);
  REQUIRE(coarse.is_lattice);
  settings.error = 0.7 * coarse.relative_error;
  const Sensitivity finer = compute_sensitivity(*scanner, *projector, settings);
  CHECK(!finer.is_lattice);
  CHECK(finer.relative_error <= settings.error);
  CHECK(finer.drawn > coarse.drawn);
  settings.sampled_pairs = coarse.drawn;  // nothing better can be had of so many
  CHECK(compute_sensitivity(*scanner, *projector, settings).is_lattice);
}

TEST_CASE("lines of an even choice of pairs add up to the sum over all") {
  const auto scanner = make_scanner(ring_of_blocks());
  const std::int64_t pairs = detail::PairList(*scanner).size();
  const auto sum_of = [&](std::int64_t most) {
    double sum = 0;
    const PairLinesCount count = for_each_pair_line(*scanner, in_the_ring, {.exact_pairs = most, .sampled_pairs = most},
                                                    nullptr, [&](const EventView& lines, const float* values, double) {
                                                      sum = std::accumulate(values, values + lines.count, sum);
                                                    });
    CHECK(count.pairs == pairs);
    CHECK(static_cast<double>(count.drawn) < 1.001 * static_cast<double>(most));
    return sum;
  };
  CHECK(sum_of(pairs / 5) == approx(sum_of(pairs)).epsilon(1e-3));
}
// SPDX-License-Identifier: Apache-2.0
