// How much of the time a scanner was live, from PETSIRD's dead-time blocks. A pair of detection bins counts a share
// l = single1 x single2 x (module pair) of its coincidences; here is the mean over all pairs, as time goes on, and how
// pairs of modules differ from it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gadgets/io/petsird/time_blocks.hpp"
#include "kernels/types/live_pattern.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::petsird {

class LiveTime {
 public:
  explicit LiveTime(std::shared_ptr<const Scanner> scanner) : scanner_(std::move(scanner)) {}

  /// Takes the block's mean over the pairs in coincidence, weighted with their detection bins' efficiencies, and the
  /// ratio of each pair of modules to it, where some differ by more than rounding. It holds from the block's start
  /// until that of the next. Throws Error for tables that do not fit the scanner and for fractions outside [0, 1].
  /// `shift_ms`: to be added to its times.
  void add(const DeadTimeBlock& block, std::int64_t shift_ms = 0);
  bool empty() const { return from_s_.empty(); }
  /// The mean over a stretch of scan time, by the blocks that have come; 1 while there is none.
  double mean(double start_s, double duration_s) const;
  /// How pairs of modules differ in that stretch, relative to mean(); null where they do not. Throws std::logic_error
  /// for a time whose patterns have been forgotten.
  std::shared_ptr<const LivePattern> pattern(double start_s, double duration_s) const;
  /// Releases the patterns of the time before, which no one will ask for: each holds a number a pair of modules. Means
  /// stay.
  void forget_patterns_before(double time_s);
  /// The first stretch of [start_s, end_s], longer than a block's rounding to ms, that no block covers.
  std::optional<std::pair<double, double>> uncovered(double start_s, double end_s) const;
  /// The largest spread in one block: RMS deviation of module pairs from the mean, relative to it.
  double spread() const { return spread_; }
  /// The largest spread of detection bins' fractions within a module, of which the mean is taken.
  double spread_in_modules() const { return spread_in_modules_; }

 private:
  struct Fractions {
    double mean = 1;
    std::shared_ptr<const LivePattern> pattern;
  };
  template <class Visit>
  void for_each_part(double start_s, double duration_s, const Visit& visit) const;

  std::shared_ptr<const Scanner> scanner_;
  std::map<double, Fractions> from_s_;
  std::map<double, double> covered_;  // ends of disjoint stretches by their starts
  double forgotten_before_s_ = -1e300;
  double spread_ = 0, spread_in_modules_ = 0;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
