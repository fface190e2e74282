// The weight of a voxel in a tube, f(r) g(u - t) without its constant factors (paper 000, eq. 3;
// PHYSICS 3), over a number V: float on host and device, SIMD lanes on the CPU
// (math/lanes-inl.hpp).
#if defined(TOFSTREAM_TOR_WEIGHT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_TOR_WEIGHT_INL
#undef TOFSTREAM_TOR_WEIGHT_INL
#else
#define TOFSTREAM_TOR_WEIGHT_INL
#endif

#include "kernels/math/lanes-inl.hpp"
#include "kernels/project/tor/tor_model.hpp"

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

/// One event's weight as a function of a voxel's place; `gaussian` says which radial response. Of another that is no
/// blob's it is interpolate(table, position), which a Table of another kind brings with it.
template <class V, bool gaussian, class Table = const float*>
struct TubeWeight {
  V pp, pq, qq, p_along, q_along;       // as Tube has them
  V radius2, u_middle, u_half;          // where the weight is zero
  V radial_rate, tof_rate, table_rate;  // as Model and TofTerm have them
  Table table;
  BlobPolynomial polynomial;
  bool blob, tof;

  TOFSTREAM_HOST_DEVICE TubeWeight(const tor::Pass& pass, const tor::Tube& tube, Table radial_table)
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
        table(radial_table),
        polynomial(pass.model.polynomial),
        blob(pass.model.blob),
        tof(pass.tof.cut_mm >= 0) {}

  /// Weight of the voxel `a` columns and `b` rows from the crossing of its slice, which lies at u.
  TOFSTREAM_HOST_DEVICE V operator()(V a, V b, V u_crossing) const {
    const V r2 = mul_add(a, mul_add(pp, a, pq * b), qq * b * b);
    const V u = mul_add(p_along, a, mul_add(q_along, b, u_crossing));
    const V lowest = splat<V>(-120.0f);  // reached only far outside, where the weight is zero
    V w;
    if constexpr (gaussian) {
      w = power_of_two(maximum(mul_add(radial_rate, r2, tof_rate * u * u), lowest));
    } else {
      if (blob) {
        const V w2 = maximum(splat<V>(1.0f) - r2 * splat<V>(polynomial.inverse_radius2), splat<V>(0.0f));
        w = blob_response(polynomial, w2, square_root(w2));
      } else {
        w = interpolate(table, square_root(minimum(r2, radius2)) * table_rate);
      }
      if (tof) w = w * power_of_two(maximum(tof_rate * u * u, lowest));
    }
    const V zero = splat<V>(0.0f);
    w = select(less(radius2, r2), zero, w);
    return select(less(u_half, absolute(u - u_middle)), zero, w);
  }
};

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_TOR_WEIGHT_INL
