// A lattice of a scanner's pairs of detectors for a sum over fewer than all of them. Internal to the sensitivity.
#pragma once

#include <cstdint>

#include "kernels/ring/sensitivity/pair_sample.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::detail {

/// The least prime that is at least n.
std::int64_t prime_from(std::int64_t n);

/// A sample that is to be a lattice has so many replicates: they show how far it is from the sum over all pairs.
inline constexpr int lattice_replicates = 2;

/// The lattice of the least prime that leaves at most `most` of a scanner's `pairs`, each of which is looked at in so many
/// `places`; its multiplier is the one by which the nearest lines lie farthest apart (the root of the sum of the squares
/// of their ends' distances). No lattice where the prime would be 1, or larger than 37: lines so far apart cover an image
/// no better than lines drawn at random.
PairSample lattice_sample(const Scanner& scanner, std::int64_t pairs, std::int64_t places, std::int64_t most,
                          std::uint64_t seed);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
