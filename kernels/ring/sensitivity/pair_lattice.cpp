// The choice of a lattice: see pair_lattice.hpp.
#include "kernels/ring/sensitivity/pair_lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tofstream::detail {

namespace {

constexpr std::int64_t largest_prime = 37;

struct Neighbour {
  double squared_mm = 0;
  std::int64_t number = 0;  // after the detector's own
};

/// The detectors nearest to the one in the middle of the middle module, itself among them.
std::vector<Neighbour> neighbours(const Scanner& scanner) {
  constexpr std::int64_t farthest = 4096;  // number, since lattices go by numbers
  constexpr std::size_t most = 64;
  const std::int64_t count = scanner.detectors->size();
  const ModuleType& type = *std::ranges::find_if(scanner.types, [&](const ModuleType& t) {
    return count / 2 < t.first_detector + std::int64_t{t.modules} * t.elements;
  });
  const std::int64_t first = count / 2 - (count / 2 - type.first_detector) % type.elements;
  const auto position = [&](std::int64_t d) {
    return scanner.detectors->position(static_cast<std::uint32_t>(d)).as<double>();
  };
  Vec3d centre{};
  for (std::int64_t d = first; d < first + type.elements; ++d) centre = centre + (1.0 / type.elements) * position(d);
  const auto squared_mm = [](Vec3d offset) { return dot(offset, offset); };
  std::int64_t middle = first;
  for (std::int64_t d = first; d < first + type.elements; ++d)
    if (squared_mm(position(d) - centre) < squared_mm(position(middle) - centre)) middle = d;
  std::vector<Neighbour> all;
  for (std::int64_t d = std::max<std::int64_t>(middle - farthest, 0); d < std::min(middle + farthest + 1, count); ++d)
    all.push_back({squared_mm(position(d) - position(middle)), d - middle});
  const std::size_t kept = std::min(most, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), {}, &Neighbour::squared_mm);
  all.resize(kept);
  return all;
}

std::int32_t best_multiplier(const std::vector<Neighbour>& near, std::int64_t prime) {
  double best_mm = -1;
  std::int32_t best = 1;
  for (std::int32_t multiplier = 1; multiplier < prime; ++multiplier) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const Neighbour& one : near)
      for (const Neighbour& two : near)
        if ((one.number != 0 || two.number != 0) && (two.number + multiplier * one.number) % prime == 0)
          nearest = std::min(nearest, one.squared_mm + two.squared_mm);
    if (nearest > best_mm) best_mm = nearest, best = multiplier;
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

PairSample lattice_sample(const Scanner& scanner, std::int64_t pairs, std::int64_t places, std::int64_t most,
                          std::uint64_t seed) {
  const std::int64_t looked_at = pairs * places, ratio = most > 0 ? (looked_at + most - 1) / most : looked_at;
  if (ratio < 2 || ratio > largest_prime) return {};
  const std::int64_t prime = prime_from(ratio);
  PairSample sample{.pairs = pairs, .cells = 0, .replicates = lattice_replicates, .seed = seed};
  sample.lattice = {.step = static_cast<std::int32_t>(prime * lattice_replicates),
                    .multiplier = best_multiplier(neighbours(scanner), prime)};
  sample.cells = sample.lattice_cells() * places * lattice_replicates;
  return sample;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
