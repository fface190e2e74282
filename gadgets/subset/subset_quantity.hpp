// The unit of an image of subsets, from what the data say of it and the time whose decays it counts.
#pragma once

#include <memory>

#include "kernels/types/quantity.hpp"

namespace tofstream {

inline constexpr auto* reference_words =
    "Length of scan time whose decays the image counts: 1 makes it an activity; 0: the whole scan, however long it was";

/// What an image of subsets shows, from what their data say of it and the time whose decays it counts.
class SubsetQuantity {
 public:
  /// What a batch says counts from now on, even if it is empty.
  void add(const std::shared_ptr<const Quantity>& quantity) { data_.add(quantity); }
  /// What an image of all data so far shows. `reference_s` 0: they state no scan time, so their rate is unknown. Throws
  /// std::runtime_error if their randoms or scatter were made for another time.
  std::shared_ptr<const Quantity> get(double reference_s);

 private:
  QuantitySoFar data_;
  std::shared_ptr<const Quantity> from_, made_;
  double made_for_s_ = -1;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
