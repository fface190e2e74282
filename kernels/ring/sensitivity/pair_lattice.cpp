// The choice of a lattice: see pair_lattice.hpp.
#include "kernels/ring/sensitivity/pair_lattice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/math/counter_random.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"

namespace tofstream::detail {

namespace {

constexpr std::int64_t largest_prime = 37;

/// A line near a point: a lattice has it where detector2 + multiplier detector1, by the first pair of its cell and counted
/// on from there, has the right remainder.
struct NearLine {
  std::int64_t detector1, detector2;
  double weight;
};

struct NearLines {
  std::vector<NearLine> lines;
  double alone =
      0;  // the sum of squared weights of lines whose cell begins between other modules: their shift is another
};

/// The lines between the modules of a pair near a point of its line, those within a width of it.
NearLines lines_near_a_point(const Scanner& scanner, const PairView& list, std::int64_t number, double fraction,
                             double width_mm, std::int64_t step) {
  const auto position = [&](std::uint32_t d) { return scanner.detectors->position(d).as<double>(); };
  PairCursor cursor(list), of_cell(list);
  const DetectorPair pair = cursor.pair(number);
  const Vec3d point = position(pair.detector2) + fraction * (position(pair.detector1) - position(pair.detector2));
  const PairModule &one = cursor.module1(), &two = cursor.module2();
  NearLines result;
  const auto add = [&](DetectorPair near, double weight) {
    const std::int64_t n = cursor.number_of(near);
    const DetectorPair first = of_cell.pair(n - n % step);
    if (of_cell.block_begin() == cursor.block_begin())
      result.lines.push_back({first.detector1, first.detector2 + n % step, weight});
    else
      result.alone += weight * weight;
  };
  for (std::uint32_t d1 = one.first_detector; d1 < one.first_detector + one.elements; ++d1) {
    const Vec3d from = position(d1), to_point = point - from;
    for (std::uint32_t d2 = two.first_detector; d2 < std::min(two.first_detector + two.elements, d1); ++d2) {
      const Vec3d along = position(d2) - from;
      const double distance_mm = norm(to_point - dot(to_point, along) / dot(along, along) * along);
      if (distance_mm < width_mm)
        add({d1, d2}, static_cast<double>(cursor.efficiency({d1, d2})) * (1 - distance_mm / width_mm));
    }
  }
  return result;
}

std::vector<NearLines> probe(const Scanner& scanner, const PairList& list, const LatticeWish& wish, std::int64_t step) {
  constexpr std::int64_t most_probes = 256, most_lines = 40'000'000;  // that are looked at: a tenth of a second
  std::int64_t largest = 1;
  for (const ModuleType& type : scanner.types) largest = std::max<std::int64_t>(largest, type.elements);
  const std::int64_t probes = std::clamp<std::int64_t>(most_lines / (largest * largest), 8, most_probes);
  std::vector<NearLines> result(static_cast<std::size_t>(probes));
  tbb::parallel_for(std::size_t{0}, result.size(), [&](std::size_t i) {
    CounterRandom random(wish.seed, i);
    const auto number = static_cast<std::int64_t>(random.uniform() * static_cast<double>(list.size()));
    const double fraction = 0.3 + 0.4 * random.uniform();  // about the field of view
    result[i] = lines_near_a_point(scanner, list.view(), number, fraction, static_cast<double>(wish.width_mm), step);
  });
  return result;
}

/// Sum of squared deviations of the weights of the lines of a lattice of this step from their mean over all shifts. Of
/// lines drawn at random it is that of the weights' squares, as of those that are `alone`.
double deviations(const std::vector<NearLines>& probes, std::int64_t step, std::int64_t multiplier) {
  const double others = 1 - 1 / static_cast<double>(step);
  double result = 0;
  for (const NearLines& near : probes) {
    std::array<double, lattice_replicates * largest_prime> sums{};
    double all = 0;
    for (const NearLine& line : near.lines) {
      sums[static_cast<std::size_t>((line.detector2 + multiplier * line.detector1) % step)] += line.weight;
      all += line.weight;
    }
    for (std::int64_t shift = 0; shift < step; ++shift)
      result += std::pow(sums[static_cast<std::size_t>(shift)] - all / static_cast<double>(step), 2);
    result += others * near.alone;
  }
  return result;
}

/// The best multiplier; 0 where none is good.
std::int32_t best_multiplier(const std::vector<NearLines>& probes, std::int64_t prime) {
  double squares = 0;
  for (const NearLines& near : probes) {
    squares += near.alone;
    for (const NearLine& line : near.lines) squares += line.weight * line.weight;
  }
  double least = 0.5 * squares * (1 - 1 / static_cast<double>(prime));
  std::int32_t best = 0;
  for (std::int32_t multiplier = 1; multiplier < prime; ++multiplier) {
    const double sum = deviations(probes, prime, multiplier);
    if (sum < least) least = sum, best = multiplier;
  }
  return best;
}

}  // namespace

std::int64_t prime_from(std::int64_t n) {
  const auto is_prime = [](std::int64_t p) {
    for (std::int64_t d = 2; d <= p / d; ++d)
      if (p % d == 0) return false;
    return true;
  };
  while (!is_prime(n)) ++n;
  return n;
}

ChosenLattice choose_lattice(const Scanner& scanner, const LatticeWish& wish) {
  const PairList list(scanner);
  const std::int64_t looked_at = list.size() * wish.places;
  if (wish.most < 1 || looked_at <= wish.most || looked_at > largest_prime * wish.most) return {};
  const std::int64_t prime = prime_from((looked_at + wish.most - 1) / wish.most);
  const auto step = static_cast<std::int32_t>(prime * lattice_replicates);
  const std::vector<NearLines> probes = probe(scanner, list, wish, step);
  const std::int32_t multiplier = best_multiplier(probes, prime);
  if (multiplier == 0) return {};
  PairSample sample{.pairs = list.size(),
                    .replicates = lattice_replicates,
                    .seed = wish.seed,
                    .lattice = {.step = step, .multiplier = multiplier}};
  sample.cells = sample.lattice_cells() * wish.places * lattice_replicates;
  const double apart = deviations(probes, step, multiplier);
  return {sample, apart > 0 ? std::sqrt(deviations(probes, prime, multiplier) / apart) : 1};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
