// The weight of a voxel in a tube, f(r) times the ToF response, without its constant factors (Cui et al. 2011, eq. 3;
// conventions.md, the tube of response), over a number V: float on host and device, SIMD lanes on the CPU
// (math/lanes-inl.hpp).
#if defined(TOFSTREAM_TOR_WEIGHT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_TOR_WEIGHT_INL
#undef TOFSTREAM_TOR_WEIGHT_INL
#else
#define TOFSTREAM_TOR_WEIGHT_INL
#endif

#include "kernels/math/lanes-inl.hpp"
#include "kernels/math/tof_bin-inl.hpp"
#include "kernels/ring/tor/tof_profile.hpp"
#include "kernels/ring/tor/tor_model.hpp"

TOFSTREAM_LANES_BEGIN

/// The value at `position` (steps from the first sample) of a table joined by lines.
template <class V>
TOFSTREAM_HOST_DEVICE inline V interpolate(const float* table, V position) {
  const V left = minimum(round_down(position), splat<V>(RadialResponse::samples - 2));
  if constexpr (std::floating_point<V>) {
    const int i = static_cast<int>(left);
    return mul_add(position - left, table[i + 1] - table[i], table[i]);
  }
#ifdef HWY_TARGET_INCLUDE
  else {
    const hn::DFromV<V> d;
    const auto i = hn::ConvertTo(hn::RebindToSigned<decltype(d)>(), left);
    const V low = hn::GatherIndex(d, table, i);
    return mul_add(position - left, hn::GatherIndex(d, table + 1, i) - low, low);
  }
#endif
}

/// f of a blob at w^2 = 1 - (r / radius)^2 in [0, 1] (tor.hpp), whose root w the caller takes as fast as it may.
template <class V>
TOFSTREAM_HOST_DEVICE inline V blob_response(const BlobPolynomial& polynomial, V w2, V w) {
  const V t = w2 - splat<V>(0.5f);
  V sum = splat<V>(polynomial.coefficient[BlobPolynomial::terms - 1]);
  for (int k = BlobPolynomial::terms - 2; k >= 0; --k) sum = mul_add(sum, t, splat<V>(polynomial.coefficient[k]));
  return w2 * w2 * w * sum;
}

/// One event's weight as a function of a voxel's place; `gaussian` says which radial response. A response that is
/// neither a Gaussian's nor a blob's is interpolate(table, position), which a Table of another kind brings with it.
/// `at_centre`: ToF as in TofTerm for Cui et al.'s scheme.
template <class V, bool gaussian, class Table = const float*, bool at_centre = false>
struct TubeWeight {
  V pp, pq, qq, p_along, q_along;       // as Tube has them
  V radius2, u_middle, u_half;          // where the weight is zero
  V radial_rate, tof_rate, table_rate;  // as Model and TofTerm have them
  float per_sigma;
  Table table;
  BlobPolynomial polynomial;
  TofBin bin;
  bool blob, tof;

  /// `bin_width_mm`: of the event's ToF bin.
  TOFSTREAM_HOST_DEVICE TubeWeight(const tor::Pass& pass, const tor::Tube& tube, float bin_width_mm, Table radial_table)
      : pp(splat<V>(tube.pp)),
        pq(splat<V>(tube.pq)),
        qq(splat<V>(tube.qq)),
        p_along(splat<V>(tube.p_along)),
        q_along(splat<V>(tube.q_along)),
        radius2(splat<V>(pass.model.radius2)),
        u_middle(splat<V>(0.5f * (tube.u_low + tube.u_high))),
        u_half(splat<V>(0.5f * (tube.u_high - tube.u_low))),
        radial_rate(splat<V>(-pass.model.radial_rate)),
        tof_rate(splat<V>(-pass.tof.rate)),
        table_rate(splat<V>(pass.model.table_steps_per_mm)),
        per_sigma(pass.tof.kernel.inverse_sigma),
        table(radial_table),
        polynomial(pass.model.polynomial),
        bin(TofBin::make(tor::kernel_of_bin(pass.tof.kernel, bin_width_mm), bin_width_mm)),
        blob(pass.model.blob),
        tof(pass.tof.present()) {}

  /// Weight of the voxel `a` columns and `b` rows from the crossing of its slice, which lies at u.
  TOFSTREAM_HOST_DEVICE V operator()(V a, V b, V u_crossing) const {
    return at(distance2(a, b), along(a, b, u_crossing));
  }
  /// The voxel's distance from the line, squared.
  TOFSTREAM_HOST_DEVICE V distance2(V a, V b) const { return mul_add(a, mul_add(pp, a, pq * b), qq * b * b); }
  /// The voxel's place along the line.
  TOFSTREAM_HOST_DEVICE V along(V a, V b, V u_crossing) const {
    return mul_add(p_along, a, mul_add(q_along, b, u_crossing));
  }

  /// The weight of a voxel at distance r from the line and at u along it. Always inline: a call in the middle of SIMD
  /// code spills its vectors.
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE V at(V r2, V u) const {
    V w;
    if constexpr (at_centre) {
      w = radial(r2, tof_rate * u * u);
    } else {
      w = radial(r2, splat<V>(0.0f));
      if (tof) w = w * bin_integral(bin, u * splat<V>(per_sigma));
    }
    return between_ends(w, u);
  }
  /// The same by a bell where its ramp is 1. Without what bells lack (TofBell::unit).
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE V by_bell(V r2, V u, const tor::TofBell& bell) const {
    return radial(r2, splat<V>(-bell.rate) * u * u);
  }
  /// The same near the place of a piece of the ToF response, to what the piece is good to; `sign` is that of u there.
  /// Without what pieces lack (TofPieces::unit).
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE V by_piece(V r2, V u, const tor::TofPiece& piece, float place,
                                                          float sign, tor::TofRamp ramp) const {
    const V v = mul_add(splat<V>(sign), u, splat<V>(-place));
    V w = radial(r2, mul_add(v, mul_add(splat<V>(piece.bend), v, splat<V>(piece.slope)), splat<V>(piece.level)));
    if (piece.kind != tor::TofPiece::whole) {
      const V y = mul_add(v, splat<V>(-ramp.rate), splat<V>(ramp.start - ramp.rate * place));
      w = w * minimum(maximum(y, splat<V>(0.0f)), splat<V>(1.0f));
    }
    return w;
  }
  /// 2^exponent times the radial response, zero outside the tube.
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE V radial(V r2, V exponent) const {
    const V lowest = splat<V>(-120.0f);  // reached only far outside, where the weight is zero
    V w;
    if constexpr (gaussian) {
      w = power_of_two(maximum(mul_add(radial_rate, r2, exponent), lowest));
    } else {
      if (blob) {
        const V w2 = maximum(splat<V>(1.0f) - r2 * splat<V>(polynomial.inverse_radius2), splat<V>(0.0f));
        w = blob_response(polynomial, w2, square_root(w2));
      } else {
        w = interpolate(table, square_root(minimum(r2, radius2)) * table_rate);
      }
      if (tof) w = w * power_of_two(maximum(exponent, lowest));
    }
    return select(less(radius2, r2), splat<V>(0.0f), w);
  }
  /// w, zero behind the line's ends and beyond ToF's reach.
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE V between_ends(V w, V u) const {
    return select(less(u_half, absolute(u - u_middle)), splat<V>(0.0f), w);
  }
};

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_TOR_WEIGHT_INL
// SPDX-License-Identifier: Apache-2.0
