// A tube's section by a slice, and the weight of a voxel in it as a power of two (tor_footprint.cuh): response and ToF
// together are a quadratic in columns and rows.
#pragma once

#include "kernels/project/tiled/tile_kernels.cuh"
#include "kernels/ring/tor/footprint_tof.cuh"

namespace tofstream::tor {

using tiled::AxisTiles;
using tiled::Visit;

/// How a voxel's place in its slice gives r^2 and u, as in Tube, from the visit's slopes.
struct Ellipse {
  float pp, pq, qq, p_along, q_along;
  float p_half, q_half, shear, row_half2, row_narrowing;

  __device__ Ellipse(const AxisTiles& axis, const Visit& visit, float radius2) {
    const float vs = axis.edge_mm[0], vp = axis.edge_mm[1], vq = axis.edge_mm[2];
    const float p_slope = visit.du * vp / vs, q_slope = visit.dv * vq / vs;
    const float ds2 = 1 / fmaf(p_slope, p_slope, fmaf(q_slope, q_slope, 1.0f));
    const float ds = copysignf(sqrtf(ds2), visit.dz), dp = p_slope * ds, dq = q_slope * ds;
    pp = (1 - dp * dp) * vp * vp;
    qq = (1 - dq * dq) * vq * vq;
    pq = -2 * dp * dq * vp * vq;
    p_along = dp * vp;
    q_along = dq * vq;
    const float per_pp = 1 / pp;
    shear = -0.5f * pq * per_pp;
    row_half2 = radius2 * per_pp;
    row_narrowing = (qq - 0.25f * pq * pq * per_pp) * per_pp;
    q_half = sqrtf(row_half2 / row_narrowing);
    p_half = sqrtf(row_half2 * qq / (row_narrowing * pp));
  }
};

/// The same number, which the compiler keeps rather than computes again at each use.
__device__ inline float kept(float x) {
  asm("" : "+f"(x));
  return x;
}

/// The exponent of the weight's power of two about a crossing, quadratic in columns a and rows b from it:
/// level + a (aa a + ab b + a_tilt) + b (bb b + b_tilt).
struct Exponent {
  float aa, ab, bb, a_tilt, b_tilt, level;

  __device__ float at(float a, float b) const {
    return fmaf(a, fmaf(aa, a, fmaf(ab, b, a_tilt)), fmaf(b, fmaf(bb, b, b_tilt), level));
  }
  /// What it grows by from column a to a + 1.
  __device__ float column_step(float a, float b) const { return fmaf(aa, fmaf(2.0f, a, 1.0f), fmaf(ab, b, a_tilt)); }
  /// What it grows by from row b to b + 1.
  __device__ float row_step(float a, float b) const { return fmaf(bb, fmaf(2.0f, b, 1.0f), fmaf(ab, a, b_tilt)); }
};

/// What the weight's steps from voxel to voxel grow by: from one column to the next, from one row to the next, and a
/// column's step from one row to the next.
struct Bends {
  float column, row, twist;
  __device__ explicit Bends(const Exponent& exponent)
      : column(tiled::fast_exp2(2 * exponent.aa)),
        row(tiled::fast_exp2(2 * exponent.bb)),
        twist(tiled::fast_exp2(exponent.ab)) {}
};

/// The exponents of the slices that a visit meets.
template <bool constant>  // but for the tilts and the level: from one slice to the next
class Exponents {
 public:
  __device__ Exponents(const Ellipse& ellipse, float radial_rate, float bend)
      : p_(ellipse.p_along), q_(ellipse.q_along) {
    const float of_tof = constant ? bend : 0.0f;
    aa_ = kept(fmaf(radial_rate, ellipse.pp, of_tof * p_ * p_));
    ab_ = kept(fmaf(radial_rate, ellipse.pq, 2 * of_tof * p_ * q_));
    bb_ = kept(fmaf(radial_rate, ellipse.qq, of_tof * q_ * q_));
  }
  __device__ Exponent with(const LocalTof& tof) const {
    const float a_tilt = tof.slope * p_, b_tilt = tof.slope * q_;
    if constexpr (constant) return {aa_, ab_, bb_, a_tilt, b_tilt, tof.level};
    const float p_bend = tof.bend * p_, q_bend = tof.bend * q_;
    return {fmaf(p_bend, p_, aa_), fmaf(2 * p_bend, q_, ab_), fmaf(q_bend, q_, bb_), a_tilt, b_tilt, tof.level};
  }
  __device__ Exponent without_tof() const { return {aa_, ab_, bb_, 0, 0, 0}; }

 private:
  float p_, q_, aa_, ab_, bb_;
};

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
