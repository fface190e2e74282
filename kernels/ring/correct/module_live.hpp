// Live fractions of pairs of modules from those of each module.
#pragma once

#include <memory>
#include <vector>

#include "kernels/types/live_pattern.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct PairLive {
  double mean = 1;                             // over pairs in coincidence, weighted with their modules' efficiencies
  std::shared_ptr<const LivePattern> pattern;  // relative to the mean
};

/// A pair of modules records the share l_1 l_2 of its coincidences, with l_m the share of singles that module m does not
/// lose. Throws std::out_of_range for shares of fewer modules than the scanner has.
PairLive live_of_pairs(const Scanner& scanner, const std::vector<double>& live_of_module);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
