// The functions of lanes.hpp for Highway's vectors, one copy for each instruction set. A file of shared math includes
// this, puts its templates over a number V between TOFSTREAM_LANES_BEGIN and TOFSTREAM_LANES_END, and guards itself as
// this file does. Included below foreach_target.h it is compiled for every instruction set; included elsewhere (CUDA,
// tests) V is a plain float.
#if defined(TOFSTREAM_MATH_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_MATH_LANES_INL
#undef TOFSTREAM_MATH_LANES_INL
#else
#define TOFSTREAM_MATH_LANES_INL
#endif

#include "kernels/math/lanes.hpp"
#include "kernels/math/whole.hpp"

#undef TOFSTREAM_LANES_BEGIN
#undef TOFSTREAM_LANES_END

#ifdef HWY_TARGET_INCLUDE

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#define TOFSTREAM_LANES_BEGIN \
  HWY_BEFORE_NAMESPACE();     \
  namespace tofstream::HWY_NAMESPACE {
#define TOFSTREAM_LANES_END \
  }                         \
  HWY_AFTER_NAMESPACE();

TOFSTREAM_LANES_BEGIN

namespace hn = hwy::HWY_NAMESPACE;

using tofstream::absolute;
using tofstream::error_function;
using tofstream::error_function_complement;
using tofstream::exponential;
using tofstream::less;
using tofstream::maximum;
using tofstream::minimum;
using tofstream::mul_add;
using tofstream::none_of;
using tofstream::power_of_two;
using tofstream::reciprocal_square_root;
using tofstream::round_down;
using tofstream::select;
using tofstream::square_root;
using tofstream::zero_where;

/// The widest vector of floats that the instruction set has, at most 16 lanes.
using FloatTag = hn::CappedTag<float, 16>;
using FloatLanes = hn::Vec<FloatTag>;
using IndexTag = hn::RebindToSigned<FloatTag>;

template <class V>
HWY_INLINE V mul_add(V a, V b, V c) {
  return hn::MulAdd(a, b, c);
}
template <class V>
HWY_INLINE V minimum(V a, V b) {
  return hn::Min(a, b);
}
template <class V>
HWY_INLINE V maximum(V a, V b) {
  return hn::Max(a, b);
}
template <class V>
HWY_INLINE V round_down(V a) {
  return hn::Floor(a);
}
template <class V>
HWY_INLINE V absolute(V a) {
  return hn::Abs(a);
}
template <class V>
HWY_INLINE V square_root(V a) {
  return hn::Sqrt(a);
}
/// 1 / sqrt(a), for a > 0, to 3e-7: x86's estimate of 12 bits or more, and one of Newton's steps.
template <class V>
HWY_INLINE V reciprocal_square_root(V a) {
  const hn::DFromV<V> d;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  const V r = hn::ApproximateReciprocalSqrt(a);
  const V half = a * r * hn::Set(d, -0.5f);
  return r * hn::MulAdd(half, r, hn::Set(d, 1.5f));
#else
  return hn::Set(d, 1.0f) / hn::Sqrt(a);
#endif
}
template <class V>
HWY_INLINE V exponential(V a) {
  return hn::Exp(hn::DFromV<V>(), a);
}
/// 2^a for a in [-120, 120], a third of the instructions of hn::Exp: the fraction by a polynomial
/// (minimax for the relative error, 8e-8), the whole number added to the exponent bits.
template <class V>
HWY_INLINE V power_of_two(V a) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> bits;
  const V unit = hn::Set(d, whole_unit);
  const V rounded = a + unit;
  const V fraction = a - (rounded - unit);
  V p = hn::Set(d, 1.3276472e-03f);
  p = hn::MulAdd(p, fraction, hn::Set(d, 9.67554133e-03f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 5.55071327e-02f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 2.40221197e-01f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 6.93146967e-01f));
  p = hn::MulAdd(p, fraction, hn::Set(d, 1.00000007f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, rounded));
  return hn::BitCast(d, hn::BitCast(bits, p) + exponent);
}
template <class V>
HWY_INLINE auto less(V a, V b) {
  return hn::Lt(a, b);
}
template <class M>
HWY_INLINE bool none_of(M condition) {
  return hn::AllFalse(FloatTag(), condition);
}
template <class M, class V>
HWY_INLINE V select(M condition, V yes, V no) {
  return hn::IfThenElse(condition, yes, no);
}

template <class M, class V>
HWY_INLINE V zero_where(M condition, V value) {
  return hn::IfThenZeroElse(condition, value);
}

/// `value` in every lane.
template <class V>
HWY_INLINE V splat(float value) {
  if constexpr (std::floating_point<V>)
    return static_cast<V>(value);
  else
    return hn::Set(hn::DFromV<V>(), value);
}
/// 0, 1, 2, ... in the lanes.
template <class V>
HWY_INLINE V lane_index() {
  if constexpr (std::floating_point<V>)
    return V(0);
  else
    return hn::Iota(hn::DFromV<V>(), 0.0f);
}
/// The sum of all lanes.
template <class V>
HWY_INLINE float sum_of_lanes(V a) {
  if constexpr (std::floating_point<V>)
    return static_cast<float>(a);
  else
    return hn::GetLane(hn::SumOfLanes(hn::DFromV<V>(), a));
}

/// erf(x) = 1 - exp(-x P(x)) for x > 0, P fitted (minimax, by reweighted least squares) to
/// -log(erfc(x)) / x on [0, 4]; within 2e-7 of erf everywhere.
template <class V>
HWY_INLINE V error_function(V x) {
  const V a = minimum(absolute(x), splat<V>(4.0f));
  V p = splat<V>(3.14441486e-05f);
  p = mul_add(p, a, splat<V>(-3.08831507e-04f));
  p = mul_add(p, a, splat<V>(1.032486e-03f));
  p = mul_add(p, a, splat<V>(5.36812328e-04f));
  p = mul_add(p, a, splat<V>(-1.95838686e-02f));
  p = mul_add(p, a, splat<V>(1.02919578e-01f));
  p = mul_add(p, a, splat<V>(6.3659774e-01f));
  p = mul_add(p, a, splat<V>(1.12838025f));
  const V zero = splat<V>(0.0f);
  const V magnitude = splat<V>(1.0f) - exponential(zero - a * p);
  return hn::CopySign(magnitude, x);
}

TOFSTREAM_LANES_END

#else

#define TOFSTREAM_LANES_BEGIN namespace tofstream::single_lane {
#define TOFSTREAM_LANES_END }

TOFSTREAM_LANES_BEGIN

template <std::floating_point V>
TOFSTREAM_HOST_DEVICE inline V splat(float value) {
  return static_cast<V>(value);
}
template <std::floating_point V>
TOFSTREAM_HOST_DEVICE inline V lane_index() {
  return V(0);
}
template <std::floating_point V>
TOFSTREAM_HOST_DEVICE inline V sum_of_lanes(V a) {
  return a;
}

TOFSTREAM_LANES_END

#endif

TOFSTREAM_LANES_BEGIN

/// error_function_complement by a fit: 1 - erf(x) = 2^(-x P(x)) for x in [0, 4], to 4e-6 of itself (P fitted as
/// error_function's, for the relative error).
template <class V>
TOFSTREAM_HOST_DEVICE inline V fitted_complement(V x) {
  V p = splat<V>(1.99761061e-05f);
  p = mul_add(p, x, splat<V>(-4.82006908e-04f));
  p = mul_add(p, x, splat<V>(5.20488123e-03f));
  p = mul_add(p, x, splat<V>(-3.38688617e-02f));
  p = mul_add(p, x, splat<V>(1.52384697e-01f));
  p = mul_add(p, x, splat<V>(9.17103442e-01f));
  p = mul_add(p, x, splat<V>(1.62805984f));
  return power_of_two(splat<V>(0.0f) - x * p);
}

#ifdef HWY_TARGET_INCLUDE
template <class V>
HWY_INLINE V error_function_complement(V x) {
  return fitted_complement(x);
}
#endif

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_MATH_LANES_INL
// SPDX-License-Identifier: Apache-2.0
