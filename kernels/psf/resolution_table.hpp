// How wide a scanner shows a point, by where the point is: a table of widths by radius and z.
#pragma once

#include <cstddef>
#include <vector>

namespace tofstream {

/// FWHM in mm along three directions at a point: from the scanner's axis outwards, across that in the transverse plane,
/// and along the axis.
struct Resolution {
  double radial_mm = 0, tangential_mm = 0, axial_mm = 0;
  friend bool operator==(const Resolution&, const Resolution&) = default;
};

struct ResolutionPoint {
  double r_mm = 0, z_mm = 0;
  Resolution fwhm;
};

class ResolutionTable {
 public:
  /// Points in any order; those of one z are a profile over the radius. Throws std::invalid_argument for none, for two
  /// at the same place, for a radius that is negative, a width that is not in [0, 100] mm, or anything that is not
  /// finite.
  explicit ResolutionTable(std::vector<ResolutionPoint> points);

  /// The z of the profiles, ascending.
  const std::vector<double>& z_mm() const { return z_mm_; }
  /// The widths at a radius in one profile: linear in between, and beyond the ends as at the ends.
  Resolution at(std::size_t profile, double r_mm) const;

 private:
  std::vector<double> z_mm_;
  std::vector<std::vector<ResolutionPoint>> profiles_;  // by z, each by radius
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
