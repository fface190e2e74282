// A lattice of a scanner's pairs of detectors for a sum over fewer than all of them. Internal to the sensitivity.
#pragma once

#include <cstdint>

#include "kernels/ring/sensitivity/pair_sample.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::detail {

/// The least prime that is at least n.
std::int64_t prime_from(std::int64_t n);

/// A lattice has so many replicates: they show how far it is from the sum over all pairs.
inline constexpr int lattice_replicates = 2;

struct LatticeWish {
  std::int64_t most = 0;    // pairs of it
  std::int64_t places = 1;  // in which each pair is looked at
  Grid grid;                // what the lines are to cover evenly
  std::uint64_t seed = 1;
};

struct ChosenLattice {
  PairSample sample;  // without a lattice: there is none
  /// The error of the sum over both replicates, in parts of the error that two replicates would have that know nothing of
  /// each other: each fills the other's gaps.
  double share_of_error = 1;
  double lines_for_one = 1;  // drawn at random that cover the grid as evenly as one of the lattice
};

/// The lattice whose sum of the lines through a point varies least with the shift, among those that have at most so
/// many of a scanner's pairs, and at least three in four of these or a seventh of all: the mean over points of the
/// grid on pairs' lines, each with the lines between the two modules of its pair and their efficiencies. None where
/// there are not more pairs than asked for, where the prime would be larger than 61, or where that variance is more
/// than half of that of lines drawn at random. The same on any host, since ranks choose for themselves.
ChosenLattice choose_lattice(const Scanner& scanner, const LatticeWish& wish);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
