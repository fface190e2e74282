// The ToF response of a batch as a footprint takes it (tor_footprint.cuh): a bell for all events, or the piece about
// each place (tof_profile.hpp).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/math/whole.hpp"
#include "kernels/ring/tor/radial.hpp"
#include "kernels/ring/tor/tof_profile.hpp"

namespace tofstream::tor {

/// The ToF response about a place on the line at u0 (mm): 2^(level + v (slope + v bend)), v = u - u0, times the ramp
/// clamp(ramp + v climb, 0, 1).
struct LocalTof {
  float level = 0, slope = 0, bend = 0, ramp = 1, climb = 0;
};

/// The ToF response of a batch as a footprint has it (tof_profile.hpp), without its unit.
template <Tof tof>
struct FootprintTof;

template <>
struct FootprintTof<Tof::none> {
  static constexpr float whole_mm = INFINITY;
  __device__ static float fetch(float u0) { return u0; }
  __device__ static LocalTof about(float) { return {}; }
  __device__ static float shaped(float y) { return y; }
};

/// A bell's. `step`: the ramp is one.
template <bool step>
struct BellTof {
  float rate, whole_mm, start, fall, shape[3];

  explicit BellTof(const TofBell& bell)
      : rate(-bell.rate),
        whole_mm(bell.whole_mm),
        start(bell.y.start),
        fall(-bell.y.rate),
        shape{bell.ramp[0], bell.ramp[1], bell.ramp[2]} {}
  __device__ static float fetch(float u0) { return u0; }
  __device__ LocalTof about(float u0) const {
    return {rate * u0 * u0, 2 * rate * u0, rate, fmaf(fall, fabsf(u0), start), copysignf(fall, -u0)};
  }
  __device__ float shaped(float y) const { return step ? y : y * fmaf(y, fmaf(y, shape[2], shape[1]), shape[0]); }
};
template <>
struct FootprintTof<Tof::step> : BellTof<true> {
  using BellTof::BellTof;
};
template <>
struct FootprintTof<Tof::bell> : BellTof<false> {
  using BellTof::BellTof;
};

template <>
struct FootprintTof<Tof::pieces> {
  TofPieceView view;
  float whole_mm;
  int steps_a_piece;  // of row_columns, of a row

  /// The piece about a place, on its way from memory.
  struct Fetched {
    int4 piece;
    float u0, v;  // v: of |u0| from the piece's place
  };
  __device__ Fetched fetch(float u0) const {
    const float inside = fminf(fabsf(u0), view.last_mm), number = fmaf(inside, view.per_step, whole_unit);
    return {__ldg(reinterpret_cast<const int4*>(view.pieces) + (__float_as_uint(number) - whole_unit_bits)), u0,
            fmaf(whole_unit - number, view.step_mm, inside)};
  }
  __device__ LocalTof about(const Fetched& fetched) const {
    const TofPiece piece{__int_as_float(fetched.piece.x), __int_as_float(fetched.piece.y),
                         __int_as_float(fetched.piece.z), fetched.piece.w};
    const TofRamp ramp = piece.ramp(view.corner, view.end);
    const float u0 = fetched.u0, v = fetched.v;
    return {fmaf(v, fmaf(v, piece.bend, piece.slope), piece.level),
            copysignf(1.0f, u0) * fmaf(2 * v, piece.bend, piece.slope), piece.bend,
            fmaf(-ramp.rate, fabsf(u0), ramp.start), copysignf(ramp.rate, -u0)};
  }
  __device__ LocalTof about(float u0) const { return about(fetch(u0)); }
  __device__ static float shaped(float y) { return y; }
};

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
