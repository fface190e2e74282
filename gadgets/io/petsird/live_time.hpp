// How much of the time a scanner was live, from PETSIRD's dead-time blocks. A pair of detection bins counts a share
// l = single1 x single2 x (module pair) of its coincidences; here is the mean over all pairs, as time goes on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "gadgets/io/petsird/time_blocks.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::petsird {

class LiveTime {
 public:
  explicit LiveTime(std::shared_ptr<const Scanner> scanner) : scanner_(std::move(scanner)) {}

  /// Takes the block's mean over the pairs in coincidence, weighted with their detection bins' efficiencies. It holds
  /// from the block's start until that of the next. Throws Error for tables that do not fit the scanner and for
  /// fractions outside [0, 1]. `shift_ms`: to be added to its times.
  void add(const DeadTimeBlock& block, std::int64_t shift_ms = 0);
  /// The mean over a stretch of scan time, by the blocks that have come; 1 while there is none.
  double mean(double start_s, double duration_s) const;
  /// The largest spread in one block: RMS deviation of module pairs from the mean, relative to it.
  double spread() const { return spread_; }

 private:
  std::shared_ptr<const Scanner> scanner_;
  std::map<double, double> fraction_from_s_;
  double spread_ = 0;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
