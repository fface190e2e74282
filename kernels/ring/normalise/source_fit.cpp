// Events and model by place: see source_fit.hpp.
#include "kernels/ring/normalise/source_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/analysis/counts_fit.hpp"

namespace tofstream::detail {

SourceProfile::SourceProfile(const Phantom& source, double margin_mm) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Box3 box{{infinite, infinite, infinite}, {-infinite, -infinite, -infinite}};
  for (const Solid& solid : source.solids()) {
    if (!(solid.activity_Bq_mL.value_or(0) > 0)) continue;
    const Box3 bounds = solid.bounds();
    for (int axis = 0; axis < 3; ++axis) {
      box.low.set(axis, std::min(box.low[axis], bounds.low[axis]));
      box.high.set(axis, std::max(box.high[axis], bounds.high[axis]));
    }
  }
  middle_ = 0.5 * (box.low + box.high);
  constexpr int directions = 64;
  for (const Solid& solid : source.solids())
    for (int k = 0; k < directions && solid.activity_Bq_mL.value_or(0) > 0; ++k) {
      const double angle = 2 * std::numbers::pi * k / directions;
      const Vec3d n{std::cos(angle), std::sin(angle), 0};
      radius_mm_ = std::max(radius_mm_, dot(n, solid.centre_mm() - middle_) + solid.extent(n));
    }
  radius_mm_ += margin_mm;
  low_mm_ = box.low.z - margin_mm;
  high_mm_ = box.high.z + margin_mm;
}

std::size_t SourceProfile::place(Vec3d p, Vec3d q) const {
  const Vec3d along = q - p, from = middle_ - p;
  const double across2 = along.x * along.x + along.y * along.y;
  const double t = across2 > 0 ? (from.x * along.x + from.y * along.y) / across2 : 0.5;
  const Vec3d nearest = p + t * along - middle_;
  const auto cell = [](double share, int count) { return std::clamp(static_cast<int>(share * count), 0, count - 1); };
  const int radius = cell(std::hypot(nearest.x, nearest.y) / radius_mm_, radii);
  const int octant = cell(0.5 + std::atan2(nearest.y, nearest.x) / (2 * std::numbers::pi), octants);
  const int slice = cell((nearest.z + middle_.z - low_mm_) / (high_mm_ - low_mm_), slices);
  return static_cast<std::size_t>((radius * octants + octant) * slices + slice);
}

SourceFit SourceProfile::compare(const std::vector<double>& counted, const std::vector<double>& expected,
                                 const std::vector<double>& variance) {
  CountsFit all;
  for (std::size_t k = 0; k < counted.size(); ++k) all.add(counted[k], expected[k], expected[k] + variance[k]);
  SourceFit fit;
  fit.chi2 = all.chi2();
  fit.places = all.places();
  fit.misfit = all.misfit();
  return fit;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
