// Round numbers along an axis and their labels. Internal to pictures and plots.
#pragma once

#include <string>
#include <vector>

namespace tofstream::detail {

struct Ticks {
  std::vector<double> values;
  std::vector<std::string> labels;
  int exponent = 0;  // labels are values / 10^exponent

  /// "x10^exponent" in front of a unit, in print; the unit alone where the exponent is 0.
  std::string unit_label(const std::string& unit) const;
};

/// Multiples of 1, 2 or 5 x 10^n within [low, high], at most about `most`. Requires low < high.
Ticks linear_ticks(double low, double high, int most);
/// Powers of ten within [low, high], with 2 and 5 times them where there are few. Requires 0 < low <
/// high.
Ticks log_ticks(double low, double high);
/// The largest of 1, 2, 5 x 10^n that is not above `value`, which is positive.
double round_down(double value);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
