// The choice of a lattice: see pair_lattice.hpp.
#include "kernels/ring/sensitivity/pair_lattice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/math/counter_random.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"

namespace tofstream::detail {

namespace {

constexpr std::int64_t largest_prime = 61;

/// A point, and the lines between two modules near it: the numbers of their pairs and how near they are, times how
/// efficient.
struct Probe {
  struct Line {
    std::int64_t number;
    double weight;
  };
  std::vector<Line> lines;
};

/// Finds the detectors of a module to which lines from elsewhere run near a point: in single precision and a little too
/// many, but all at a time.
class LinesNear {
 public:
  LinesNear(const DetectorTable& detectors, std::uint32_t first, std::uint32_t end, Vec3d point)
      : first_(first), beyond_(end - first) {
    for (std::uint32_t d = first; d < end; ++d) {
      const Vec3d at = detectors.position(d).as<double>() - point;
      x_.push_back(static_cast<float>(at.x));
      y_.push_back(static_cast<float>(at.y));
      z_.push_back(static_cast<float>(at.z));
    }
  }

  /// visit(detector) for each of those before `end` whose line from `from`, relative to the point, passes it within
  /// `distance_mm`, and for some beyond.
  template <class Visit>
  void for_each(Vec3d from, double distance_mm, std::uint32_t end, const Visit& visit) {
    constexpr double slack = 1.01;
    const auto fx = static_cast<float>(from.x), fy = static_cast<float>(from.y), fz = static_cast<float>(from.z),
               most2 = static_cast<float>(slack * distance_mm * distance_mm);
    const std::size_t count = std::min<std::size_t>(end > first_ ? end - first_ : 0, x_.size());
    const float *const x = x_.data(), *const y = y_.data(), *const z = z_.data();
    float* const beyond = beyond_.data();
    for (std::size_t k = 0; k < count; ++k) {  // the distance is |from x to| / |to - from|
      const float cx = fy * z[k] - fz * y[k], cy = fz * x[k] - fx * z[k], cz = fx * y[k] - fy * x[k], ux = x[k] - fx,
                  uy = y[k] - fy, uz = z[k] - fz;
      beyond[k] = cx * cx + cy * cy + cz * cz - most2 * (ux * ux + uy * uy + uz * uz);
    }
    for (std::size_t k = 0; k < count; ++k)
      if (beyond[k] <= 0) visit(first_ + static_cast<std::uint32_t>(k));
  }

 private:
  std::uint32_t first_;
  std::vector<float> x_, y_, z_;  // of the detectors, relative to the point
  std::vector<float> beyond_;     // positive where the line to a detector passes too far away
};

/// The lines between the modules of a pair near a point of its line, those within a voxel of it; none where its line
/// misses the grid. `fraction`: of the way through the grid.
Probe lines_near_a_point(const Scanner& scanner, const PairView& list, std::int64_t number, const Grid& grid,
                         double fraction) {
  const auto width_mm = static_cast<double>(grid.voxel_mm.x);
  const auto position = [&](std::uint32_t d) { return scanner.detectors->position(d).as<double>(); };
  PairCursor cursor(list);
  const DetectorPair pair = cursor.pair(number);
  float enter = 0, leave = 1;
  if (!Reach(grid, 0).clip(scanner.detectors->position(pair.detector1), scanner.detectors->position(pair.detector2),
                           enter, leave))
    return {};
  const double at = static_cast<double>(enter) + fraction * static_cast<double>(leave - enter);
  const Vec3d point = position(pair.detector1) + at * (position(pair.detector2) - position(pair.detector1));
  const PairModule &one = cursor.module1(), &two = cursor.module2();
  Probe probe;
  LinesNear near(*scanner.detectors, two.first_detector, two.first_detector + two.elements, point);
  for (std::uint32_t d1 = one.first_detector; d1 < one.first_detector + one.elements; ++d1) {
    const Vec3d from = position(d1), to_point = point - from;
    near.for_each(from - point, width_mm, d1, [&](std::uint32_t d2) {
      const Vec3d along = position(d2) - from;
      const double distance_mm = norm(to_point - dot(to_point, along) / dot(along, along) * along);
      if (distance_mm < width_mm)
        probe.lines.push_back({cursor.number_of({d1, d2}),
                               static_cast<double>(cursor.efficiency({d1, d2})) * (1 - distance_mm / width_mm)});
    });
  }
  return probe;
}

std::vector<Probe> make_probes(const Scanner& scanner, const PairList& list, const LatticeWish& wish) {
  constexpr std::int64_t least_probes = 32, most_probes = 1024;
  constexpr std::int64_t most_lines = 40'000'000;  // that are looked at: a tenth of a second
  constexpr int most_tries = 100;                  // to meet the grid
  constexpr std::size_t most_near = 400'000;       // that are kept: each is added up for each multiplier
  std::int64_t largest = 1;
  for (const ModuleType& type : scanner.types) largest = std::max<std::int64_t>(largest, type.elements);
  const std::int64_t probes = std::clamp<std::int64_t>(most_lines / (largest * largest), least_probes, most_probes);
  std::vector<Probe> result(static_cast<std::size_t>(probes));
  tbb::parallel_for(std::size_t{0}, result.size(), [&](std::size_t i) {
    CounterRandom random(wish.seed, i);
    for (int tried = 0; tried < most_tries && result[i].lines.empty(); ++tried) {
      const auto number = static_cast<std::int64_t>(random.uniform() * static_cast<double>(list.size()));
      result[i] = lines_near_a_point(scanner, list.view(), number, wish.grid, random.uniform());
    }
  });
  std::size_t kept = 0;
  const auto is_enough = [&](const Probe& probe) { return (kept += probe.lines.size()) > most_near; };
  const auto end = std::find_if(result.begin() + 8, result.end(), is_enough);
  result.erase(end, result.end());
  return result;
}

/// A line in the cells of a step: a lattice has it where detector2 + multiplier detector1, of the first pair of its cell
/// and counted on from there, has the right remainder.
struct LineInCell {
  std::int64_t detector1, detector2;
  double weight;
};

struct LinesInCells {
  std::vector<LineInCell> lines;
  double alone = 0;  // the sum of squared weights of lines whose cell begins between other modules, with another shift
};

std::vector<LinesInCells> in_cells(const std::vector<Probe>& probes, const PairView& list, std::int64_t step) {
  std::vector<LinesInCells> result(probes.size());
  tbb::parallel_for(std::size_t{0}, probes.size(), [&](std::size_t i) {
    PairCursor cursor(list), of_cell(list);
    for (const Probe::Line& line : probes[i].lines) {
      cursor.pair(line.number);
      const DetectorPair first = of_cell.pair(line.number - line.number % step);
      if (of_cell.block_begin() == cursor.block_begin())
        result[i].lines.push_back({first.detector1, first.detector2 + line.number % step, line.weight});
      else
        result[i].alone += line.weight * line.weight;
    }
  });
  return result;
}

/// Sum of squared deviations of the weights of the lines of a lattice of this step from their mean over all shifts.
double deviations(const std::vector<LinesInCells>& points, std::int64_t step, std::int64_t multiplier) {
  const double others = 1 - 1 / static_cast<double>(step);
  double result = 0;
  for (const LinesInCells& near : points) {
    std::array<double, lattice_replicates * largest_prime> sums{};
    double all = 0;
    for (const LineInCell& line : near.lines) {
      sums[static_cast<std::size_t>((line.detector2 + multiplier * line.detector1) % step)] += line.weight;
      all += line.weight;
    }
    for (std::int64_t shift = 0; shift < step; ++shift) {
      const double deviation = sums[static_cast<std::size_t>(shift)] - all / static_cast<double>(step);
      result += deviation * deviation;
    }
    result += others * near.alone;
  }
  return result;
}

/// The same of lines drawn at random.
double deviations_at_random(const std::vector<LinesInCells>& points, std::int64_t step) {
  double squares = 0;
  for (const LinesInCells& near : points) {
    squares += near.alone;
    for (const LineInCell& line : near.lines) squares += line.weight * line.weight;
  }
  return squares * (1 - 1 / static_cast<double>(step));
}

struct BestLattice {
  std::int64_t prime = 0;  // 0: none is good
  std::int32_t multiplier = 0;
  double share_of_error = 1, lines_for_one = 1;  // as ChosenLattice has them
};

/// The lattice whose sums have the least variance, of primes from the least to a third more, or to 7 where that is more.
BestLattice best_lattice(const Scanner& scanner, const PairList& list, const LatticeWish& wish, std::int64_t least) {
  constexpr double least_share = 0.2;  // what is left between modules, the points do not show
  constexpr double alike = 1 + 1e-9;   // values that are equal but for the rounding of a processor's own functions
  const std::vector<Probe> probes = make_probes(scanner, list, wish);
  const std::int64_t most = std::min(std::max<std::int64_t>(4 * least / 3, 7), largest_prime);
  BestLattice best;
  double variance = std::numeric_limits<double>::infinity();
  for (std::int64_t prime = prime_from(least); prime <= std::max(most, prime_from(least));
       prime = prime_from(prime + 1)) {
    const std::int64_t step = prime * lattice_replicates;
    const std::vector<LinesInCells> lines = in_cells(probes, list.view(), step);
    std::vector<double> sums(static_cast<std::size_t>(prime));
    tbb::parallel_for(std::size_t{1}, sums.size(), [&](std::size_t multiplier) {
      sums[multiplier] = deviations(lines, prime, static_cast<std::int64_t>(multiplier));
    });
    const double least_of_all = *std::min_element(sums.begin() + 1, sums.end());
    const auto least_sum =
        std::find_if(sums.begin() + 1, sums.end(), [&](double sum) { return sum <= alike * least_of_all; });
    const double at_random = deviations_at_random(lines, prime);
    if (alike * *least_sum * static_cast<double>(prime) >= variance || *least_sum > 0.5 * at_random) continue;
    variance = *least_sum * static_cast<double>(prime);
    const auto multiplier = static_cast<std::int32_t>(least_sum - sums.begin());
    const double apart = deviations(lines, step, multiplier);
    best = {prime, multiplier, std::max(apart > 0 ? std::sqrt(*least_sum / apart) : 1, least_share),
            *least_sum > 0 ? at_random / *least_sum : 1};
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
  const BestLattice best = best_lattice(scanner, list, wish, (looked_at + wish.most - 1) / wish.most);
  if (best.prime == 0) return {};
  PairSample sample{
      .pairs = list.size(),
      .replicates = lattice_replicates,
      .seed = wish.seed,
      .lattice = {.step = static_cast<std::int32_t>(best.prime * lattice_replicates), .multiplier = best.multiplier}};
  sample.cells = sample.lattice_cells() * wish.places * lattice_replicates;
  return {sample, best.share_of_error, best.lines_for_one};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
