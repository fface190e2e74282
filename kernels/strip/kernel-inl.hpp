// P(event | pixel) of two strips at pixels (Bialas et al. 2015, eq. 7; kernel.hpp), over a number V: float or double on
// host and device, SIMD lanes on the CPU (math/lanes-inl.hpp).
#if defined(TOFSTREAM_STRIP_KERNEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_STRIP_KERNEL_INL
#undef TOFSTREAM_STRIP_KERNEL_INL
#else
#define TOFSTREAM_STRIP_KERNEL_INL
#endif

#include <concepts>

#include "kernels/math/lanes-inl.hpp"
#include "kernels/strip/kernel.hpp"

TOFSTREAM_LANES_BEGIN

/// A number of an event, or a constant, in every lane of V; lanes as they are.
template <class V, class T>
TOFSTREAM_HOST_DEVICE inline V each(T value) {
  if constexpr (std::same_as<V, T>)
    return value;
  else if constexpr (std::floating_point<V>)
    return static_cast<V>(value);
  else
    return splat<V>(static_cast<float>(value));
}

/// e^(-x / 2) = 2^(this x).
inline constexpr double strip_exponent_rate = -0.72134752044448170;

/// What eq. 7 needs at a pixel, as kernel.hpp names it.
template <class V>
struct StripPixel {
  V squared;  // b C^-1 b
  V mixed;    // b C^-1 a; the gaussian form does not look at it
  V norm;     // N
};

/// The pixels of one y: polynomials of shift.
template <class V>
struct StripRow {
  V distance, mixed, mixed_slope, norm, norm_slope;

  /// At the pixel whose shift is dz - dy tan (mm).
  template <StripForm form, class T>
  TOFSTREAM_HOST_DEVICE StripPixel<V> at(const StripEventTerms<T>& event, V shift) const {
    const V squared = mul_add(each<V>(event.across) * shift, shift, distance);
    if constexpr (form == StripForm::gaussian) return {squared, V(norm), V(norm)};
    return {squared, mul_add(mixed_slope, shift, mixed), mul_add(norm_slope, shift, norm)};
  }
};

/// The row of pixels `dy` (mm) above the event's reconstructed emission.
template <class V, class T>
TOFSTREAM_HOST_DEVICE inline StripRow<V> strip_row(const StripEventTerms<T>& event, V dy) {
  StripRow<V> row;
  row.distance = each<V>(event.along) * dy * dy;
  row.mixed = mul_add(each<V>(event.m2), dy, each<V>(event.m1)) * dy;
  row.mixed_slope = mul_add(each<V>(event.s1), dy, each<V>(event.s0));
  row.norm = mul_add(mul_add(each<V>(event.n2), dy, each<V>(event.n1)), dy, each<V>(event.n0));
  row.norm_slope = each<V>(T(2) * event.tan) * row.mixed_slope;
  return row;
}

/// The pixels of one z: polynomials of dy, the number's index its power.
template <class U>
struct StripColumn {
  U squared0, squared1, squared2, mixed0, mixed1, mixed2, norm0, norm1, norm2;

  /// At pixels `dy` (mm) above the event's reconstructed emission.
  template <StripForm form, class V>
  TOFSTREAM_HOST_DEVICE StripPixel<V> at(V dy) const {
    const V squared = mul_add(mul_add(each<V>(squared2), dy, each<V>(squared1)), dy, each<V>(squared0));
    const V norm = mul_add(mul_add(each<V>(norm2), dy, each<V>(norm1)), dy, each<V>(norm0));
    if constexpr (form == StripForm::gaussian) return {squared, V(norm), norm};
    return {squared, mul_add(mul_add(each<V>(mixed2), dy, each<V>(mixed1)), dy, each<V>(mixed0)), norm};
  }
};

/// The column of pixels `dz` (mm) beside the event's reconstructed emission.
template <StripForm form, class U, class T>
TOFSTREAM_HOST_DEVICE inline StripColumn<U> strip_column(const StripEventTerms<T>& event, U dz) {
  const T tan = event.tan, twice_tan = form == StripForm::gaussian ? T(0) : T(2) * tan;
  StripColumn<U> column;
  column.squared1 = each<U>(T(-2) * event.across * tan) * dz;
  column.squared0 = each<U>(event.across) * dz * dz;
  column.squared2 = each<U>(event.along + event.across * tan * tan);
  // shift (s0 + s1 dy), as a polynomial of dy
  const U slope0 = each<U>(event.s0) * dz, slope1 = mul_add(each<U>(event.s1), dz, each<U>(-event.s0 * tan));
  const T slope2 = -event.s1 * tan;
  column.mixed0 = slope0;
  column.mixed1 = each<U>(event.m1) + slope1;
  column.mixed2 = each<U>(event.m2 + slope2);
  column.norm0 = mul_add(each<U>(twice_tan), slope0, each<U>(event.n0));
  column.norm1 = mul_add(each<U>(twice_tan), slope1, each<U>(event.n1));
  column.norm2 = each<U>(event.n2 + twice_tan * slope2);
  return column;
}

/// The integrand of eq. 7 at a pixel: a Gaussian of the emission angle, whose mean is event.angle - turn / root.
template <class V>
struct StripPeak {
  V shape;  // P without its factor event.scale; 0 outside the 3 sigma ellipse
  V turn;   // b C^-1 a / sqrt(N)
  V root;   // sqrt(N), 1 / the standard deviation of the angle
};

template <class V, class T>
TOFSTREAM_HOST_DEVICE inline StripPeak<V> strip_peak(const StripEventTerms<T>& event, const StripPixel<V>& pixel) {
  const V norm = maximum(pixel.norm, each<V>(event.least_norm));
  const V deviation = reciprocal_square_root(norm);
  const V turn = pixel.mixed * deviation;
  const V p = deviation * power_of_two(each<V>(strip_exponent_rate) * (pixel.squared - turn * turn));
  return {zero_where(less(each<V>(strip_cut), pixel.squared), p), turn, norm * deviation};
}

/// How far the middle of a peak is from the nearer and the farther end of the angles that the strips see, in standard
/// deviations: to the nearer one as a negative number if the middle is not between them.
template <class V>
struct StripEdges {
  V nearer, farther;
};

/// An edge this far off, in standard deviations, has no effect: beside 1 the rest vanishes in a float.
inline constexpr float strip_reach = 5.6568542f;
/// A peak this far within an edge is whole to 4e-7, as good as 1 / sqrt(N) is.
inline constexpr float strip_whole = 4.95f;

/// How far an edge lies above a peak's middle, in standard deviations.
template <class V, class T>
TOFSTREAM_HOST_DEVICE inline V strip_edge(const StripEventTerms<T>& event, const StripPeak<V>& peak, V angle) {
  return mul_add(angle - each<V>(event.angle), peak.root, peak.turn);
}

template <class V, class T>
TOFSTREAM_HOST_DEVICE inline StripEdges<V> strip_edges(const StripEventTerms<T>& event, const StripPeak<V>& peak,
                                                       const StripAngles<V>& angles) {
  const V high = strip_edge(event, peak, angles.high), low = strip_edge(event, peak, angles.low);
  const V nearer = minimum(absolute(high), absolute(low));
  return {select(less(high * low, each<V>(0.0)), nearer, each<V>(0.0) - nearer),
          maximum(absolute(high), absolute(low))};
}

/// The share of a Gaussian beyond an edge that is x >= 0 standard deviations from its middle.
template <class V>
TOFSTREAM_HOST_DEVICE inline V strip_tail(V x) {
  const V reach = each<V>(strip_reach), scaled = minimum(x, reach) * each<V>(0.70710678118654752);
  return zero_where(less(reach, x), each<V>(0.5) * error_function_complement(scaled));
}

/// The share of the peak below an edge that is x above its middle.
template <class V>
TOFSTREAM_HOST_DEVICE inline V strip_share_below(V x) {
  const V tail = strip_tail(absolute(x));
  return select(less(each<V>(0.0), x), each<V>(1.0) - tail, tail);
}

/// The share of the peak between the edges. Small ones keep their digits, since an event that was measured far beyond
/// the strips' ends has no others.
template <class V>
TOFSTREAM_HOST_DEVICE inline V strip_share(const StripEdges<V>& edges) {
  V share = strip_share_below(edges.nearer);
  // A pixel is hardly ever near both ends. The difference of two fitted tails of nearly the same size may have the
  // wrong sign.
  if (!none_of(less(edges.farther, each<V>(strip_reach))))
    share = maximum(share - strip_tail(edges.farther), each<V>(0.0));
  return share;
}

/// P at a pixel (eq. 7) without its factor event.scale; 0 outside the 3 sigma ellipse. `angles` are those at which the
/// pixel's photons meet both strips (strip_angles); only the full form looks at them.
template <StripForm form, class V, class T>
TOFSTREAM_HOST_DEVICE inline V strip_shape(const StripEventTerms<T>& event, const StripPixel<V>& pixel,
                                           [[maybe_unused]] const StripAngles<V>& angles) {
  if constexpr (form == StripForm::gaussian) {
    const V p = reciprocal_square_root(pixel.norm) * power_of_two(each<V>(strip_exponent_rate) * pixel.squared);
    return zero_where(less(each<V>(strip_cut), pixel.squared), p);
  } else {
    const StripPeak<V> peak = strip_peak(event, pixel);
    if constexpr (form == StripForm::eq7) return peak.shape;
    return peak.shape * strip_share(strip_edges(event, peak, angles));
  }
}

/// P (1/mm^3) at a pixel.
template <StripForm form, class V, class T>
TOFSTREAM_HOST_DEVICE inline V strip_density(const StripEventTerms<T>& event, const StripPixel<V>& pixel,
                                             const StripAngles<V>& angles) {
  return each<V>(event.scale) * strip_shape<form>(event, pixel, angles);
}

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_STRIP_KERNEL_INL
// SPDX-License-Identifier: Apache-2.0
