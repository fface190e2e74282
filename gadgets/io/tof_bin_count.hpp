// How many ToF bins a file has whose bins lie about 0, without a word on where: PETSIRD's and CASToR's.
#pragma once

#include <algorithm>
#include <cmath>

namespace tofstream::formats {

/// As many bins of `width_mm` as cover `window_mm`, one at least; one more where only that makes `centre_mm`, the ToF of
/// an event in bins, the centre of one. Else all events would lie on borders, and move by half a bin.
inline double tof_bin_count(double window_mm, double width_mm, double centre_mm) {
  const double bins = std::max(1.0, std::round(window_mm / width_mm));
  const bool zero_is_a_centre = std::abs(std::remainder(centre_mm, width_mm)) < width_mm / 4;
  return zero_is_a_centre == (std::fmod(bins, 2) == 1) ? bins : bins + 1;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
