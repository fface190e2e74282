// The tube of one LOR on a grid (Cui et al. 2011, II.B.3-4): the slices across its predominant direction
// that it meets, where the line crosses each, and r (eq. 3) and u of a voxel near the crossing.
// Set up in double, once an event; shared by host and device.
#pragma once

#include <cmath>

#include "kernels/math/dominant_axis.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/math/lanes.hpp"
#include "kernels/math/reciprocal.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::tor {

/// Axes of a slice across `slice`: columns `p` and rows `q`. Columns run along x where they can,
/// the fastest axis in memory.
struct SliceAxes {
  int slice, p, q;
};
TOFSTREAM_HOST_DEVICE constexpr SliceAxes slice_axes(int axis) {
  return {axis, axis == 0 ? 1 : 0, axis == 2 ? 1 : 2};
}

/// A voxel is named by its slice k and by its offset from the line's crossing with that slice: `a`
/// columns and `b` rows.
struct Tube {
  SliceAxes axes{};
  int first = 0, last = -1;        // slices that the tube may meet; none where last < first
  double p0 = 0, p_step = 0;       // the line crosses slice k in column p0 + k p_step
  double q0 = 0, q_step = 0;       // and row q0 + k q_step (voxels)
  double u0 = 0, u_step = 0;       // at u0 + k u_step mm from the ToF centre (non-ToF: the midpoint)
  float u_low = 0, u_high = 0;     // voxels with u in [u_low, u_high] count
  float pp = 0, pq = 0, qq = 0;    // r^2 = pp a^2 + pq a b + qq b^2 (mm^2)
  float p_along = 0, q_along = 0;  // u = u of the crossing + p_along a + q_along b (mm)
  float p_half = 0, q_half = 0;    // half extents of the ellipse in columns and rows
  // Row b of the ellipse is centred shear b columns from the crossing and reaches
  // sqrt(row_half2 - row_narrowing b^2) columns to either side.
  float shear = 0, row_half2 = 0, row_narrowing = 0;

  TOFSTREAM_HOST_DEVICE bool empty() const { return last < first; }

  struct Columns {
    float first, last;
  };
  /// The columns, counted from the crossing, between which rows `b_first` to `b_last` of the ellipse
  /// lie: a superset by a hair. Always inline: a call in the middle of SIMD code spills its vectors.
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE Columns columns_of_rows(float b_first, float b_last) const {
    const float b_widest = maximum(b_first, minimum(b_last, 0.0f));
    const float half2 = row_half2 - row_narrowing * b_widest * b_widest;
    const float half = std::sqrt(maximum(half2, 0.0f)) + 1e-3f;
    const float centre1 = shear * maximum(b_first, -q_half);
    const float centre2 = shear * minimum(b_last, q_half);
    return {minimum(centre1, centre2) - half, maximum(centre1, centre2) + half};
  }
};

namespace detail {

/// Narrows [low, high] to the k at which start + k step lies in [from, to].
[[gnu::always_inline]] TOFSTREAM_HOST_DEVICE inline void narrow(double start, double step, double from, double to,
                                                                double& low, double& high) {
  if (std::abs(step) < 1e-12) {
    if (start < from || start > to) high = low - 1;
    return;
  }
  const double planes_a_step = reciprocal(step);
  const double k1 = (from - start) * planes_a_step, k2 = (to - start) * planes_a_step;
  low = maximum(low, minimum(k1, k2));
  high = minimum(high, maximum(k1, k2));
}

}  // namespace detail

/// The tube of `lor` with the given radius. ToF is limited to `tof_cut_mm` about the ToF centre; a
/// negative `tof_cut_mm` stands for non-ToF. Empty for a LOR that misses the grid, has no length or
/// is not finite. Slices and extents are supersets by a hair: r and u of each voxel decide. Always inline:
/// within SIMD code it is compiled for the same instruction set.
[[gnu::always_inline]] TOFSTREAM_HOST_DEVICE inline Tube make_tube(const Grid& grid, const Lor& lor, double radius_mm,
                                                                   double tof_cut_mm) {
  Tube tube;
  const Vec3d end1 = lor.end1.as<double>(), end2 = lor.end2.as<double>();
  const Vec3d along = end2 - end1;
  const double length = norm(along);
  const bool tof = tof_cut_mm >= 0;
  const double centre = tof ? static_cast<double>(lor.tof_mm) : 0.0;
  if (!(length > 0) || !std::isfinite(length) || !std::isfinite(centre)) return tube;

  const Vec3d d = reciprocal(length) * along;
  tube.axes = slice_axes(dominant_axis<EqualAxes::x_y_z>(d));
  const auto [s, p, q] = tube.axes;
  const double ds = d[s], dp = d[p], dq = d[q];
  const double vs = grid.voxel_mm[s], vp = grid.voxel_mm[p], vq = grid.voxel_mm[q];

  const Vec3d middle = 0.5 * (end1 + end2);
  const double mm_a_depth = reciprocal(ds), columns_a_mm = reciprocal(vp), rows_a_mm = reciprocal(vq);
  const double u_first = (grid.origin_mm[s] - middle[s]) * mm_a_depth;  // from the midpoint, at slice 0
  tube.u0 = u_first - centre;
  tube.u_step = vs * mm_a_depth;
  tube.p0 = (middle[p] + u_first * dp - grid.origin_mm[p]) * columns_a_mm;
  tube.p_step = tube.u_step * dp * columns_a_mm;
  tube.q0 = (middle[q] + u_first * dq - grid.origin_mm[q]) * rows_a_mm;
  tube.q_step = tube.u_step * dq * rows_a_mm;

  const double half = 0.5 * length;
  const double u_low = tof ? maximum(-half - centre, -tof_cut_mm) : -half;
  const double u_high = tof ? minimum(half - centre, tof_cut_mm) : half;
  const double slant = std::abs(mm_a_depth);  // of the tube's section by a slice
  const double hair = 1e-4;
  const double p_half = radius_mm * std::sqrt(1 - dq * dq) * slant * columns_a_mm + hair;
  const double q_half = radius_mm * std::sqrt(1 - dp * dp) * slant * rows_a_mm + hair;
  const double reach = radius_mm * std::sqrt(dp * dp + dq * dq) * slant + hair;
  double low = 0, high = grid.size[s] - 1;
  detail::narrow(tube.u0, tube.u_step, u_low - reach, u_high + reach, low, high);
  detail::narrow(tube.p0, tube.p_step, -p_half, grid.size[p] - 1 + p_half, low, high);
  detail::narrow(tube.q0, tube.q_step, -q_half, grid.size[q] - 1 + q_half, low, high);
  if (!(u_low <= u_high) || !(low <= high + 2 * hair)) return tube;
  tube.first = static_cast<int>(maximum(std::ceil(low - hair), 0.0));
  tube.last = static_cast<int>(minimum(std::floor(high + hair), grid.size[s] - 1.0));

  const double pp = (1 - dp * dp) * vp * vp, qq = (1 - dq * dq) * vq * vq;
  const double pq = -2 * dp * dq * vp * vq;
  tube.u_low = static_cast<float>(u_low);
  tube.u_high = static_cast<float>(u_high);
  tube.pp = static_cast<float>(pp);
  tube.pq = static_cast<float>(pq);
  tube.qq = static_cast<float>(qq);
  tube.p_along = static_cast<float>(dp * vp);
  tube.q_along = static_cast<float>(dq * vq);
  tube.p_half = static_cast<float>(p_half);
  tube.q_half = static_cast<float>(q_half);
  tube.shear = static_cast<float>(-0.5 * pq / pp);
  tube.row_half2 = static_cast<float>(radius_mm * radius_mm / pp);
  tube.row_narrowing = static_cast<float>((pp * qq - 0.25 * pq * pq) / (pp * pp));
  return tube;
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
