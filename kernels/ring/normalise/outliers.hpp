// Which crystals an estimate of efficiencies leaves out.
#pragma once

#include <cmath>

namespace tofstream {

/// Dead: with less than a tenth of the usual counts. Hot: with more than three times as many; both by more than 5 sigma.
/// Unseen: fewer than 10 counts are to be expected, too few to say anything.
enum class CrystalState { usual, dead, hot, unseen };

inline constexpr double least_expected_counts = 10;

/// The state of a crystal with `counted` counts where `expected` are usual.
inline CrystalState state_of(double counted, double expected) {
  constexpr double dead_below = 0.1, hot_above = 3, sigmas = 5;
  if (expected < least_expected_counts) return CrystalState::unseen;
  if (counted < dead_below * expected && expected - counted > sigmas * std::sqrt(expected)) return CrystalState::dead;
  if (counted > hot_above * expected && counted - expected > sigmas * std::sqrt(counted)) return CrystalState::hot;
  return CrystalState::usual;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
