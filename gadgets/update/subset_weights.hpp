// What a relaxed update learns of the subsets as they first come: how much of the data each of them has, and how high
// the image can be. A checkpoint holds it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gadgets/payloads.hpp"

namespace tofstream {

class SubsetWeights {
 public:
  SubsetWeights() = default;
  /// As a checkpoint holds it: see kept().
  explicit SubsetWeights(const std::map<std::string, double>& kept);
  /// Whether a checkpoint holds any.
  static bool are_in(const std::map<std::string, double>& kept);

  /// Takes note of a subset before its update.
  void note(const Projected& projected);
  /// The subset's share of the data, relative to the mean of those that have come: T_k/T over its mean. Of subsets with
  /// a sensitivity of their own, their number, which is to be multiplied by the subset's s over the whole's.
  double weight_of(const Projected& projected) const;
  /// Events of the reference time, of the first subset that has any; 0 before.
  double rate() const { return rate_; }
  /// The activity whose projection has so many events if it is the same in all voxels; 0 before.
  double mean() const { return mean_; }

  std::map<std::string, double> kept() const;

 private:
  double fraction_sum_ = 0, subsets_ = 0, rate_ = 0, mean_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
