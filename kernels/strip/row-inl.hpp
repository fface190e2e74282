// P of two strips pixel after pixel of a row, for a GPU: kernel-inl.hpp's polynomials again, but of the number of a
// pixel and with the exponential's base in them, so that a pixel takes few instructions. Host and device.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/math/whole.hpp"
#include "kernels/strip/kernel-inl.hpp"

namespace tofstream::strip {

/// Exponents are powers of two: exp(-x / 2) = 2^(-half_log2e x). Angles are in units of 1 / half_log2e radians, so that
/// b C^-1 a / sqrt(N) comes out as the root of such an exponent.
inline constexpr float half_log2e = 0.72134752f;

/// What the rows of an event on a grid are made of. Lengths along y are in mm, along z in pixels.
struct alignas(16) RowEvent {
  float dy;              // from the reconstructed emission to the first row
  float centre, slope;   // number of the column in the ellipse's middle: at dy = 0, and by mm of dy
  float across, along;   // of -b C^-1 b
  float m1, m2, s0, s1;  // of b C^-1 a
  float n0, n1, n2;      // of N
  float norm_slope;      // by s0 + s1 dy
  float least_norm;
  int rows;        // of the box around the ellipse, from the first one
  int first_word;  // of the first row, where the image lies

  TOFSTREAM_HOST_DEVICE static RowEvent make(const StripEventTerms<float>& t, const Grid& grid, const StripBox& box) {
    const float pixel = grid.voxel_mm.z, per_pixel = 1 / pixel, per_square = 1 / half_log2e;
    RowEvent e;
    e.dy = grid.origin_mm.y + static_cast<float>(box.y_first) * grid.voxel_mm.y - t.y;
    e.centre = (t.z - grid.origin_mm.z) * per_pixel;
    e.slope = t.tan * per_pixel;
    e.across = -t.across * pixel * pixel * half_log2e;
    e.along = -t.along * half_log2e;
    e.m1 = t.m1;
    e.m2 = t.m2;
    e.s0 = t.s0 * pixel;
    e.s1 = t.s1 * pixel;
    e.n0 = t.n0 * per_square;
    e.n1 = t.n1 * per_square;
    e.n2 = t.n2 * per_square;
    e.norm_slope = 2 * t.tan * per_square;
    e.least_norm = t.least_norm * per_square;
    e.rows = box.y_last - box.y_first + 1;
    e.first_word = 0;
    return e;
  }
};

/// What else there is to know of an event.
struct alignas(16) RowEventRest {
  float angle;
  float scale;     // of P
  float additive;  // the event's additive term, by scale
  int packed;      // the event's number among those of its warp, which ends it is near, and its first row

  static constexpr int number_bits = 31, near_high = 32, near_low = 64, first_row_shift = 7;

  TOFSTREAM_HOST_DEVICE static RowEventRest make(const StripEventTerms<float>& t, float additive) {
    const float scale = t.scale * 1.1774100f;  // 1 / sqrt(half_log2e), since 1 / sqrt(N) has the root of that unit
    return {t.angle * half_log2e, scale, additive / scale, 0};
  }
};

/// The share of a standard Gaussian below `high`, in units of sqrt(1 / half_log2e) standard deviations (strip_share of
/// one edge); `mirrored`: that above.
TOFSTREAM_HOST_DEVICE inline float share_below(float high, bool mirrored) {
  constexpr float farthest = 4;                  // strip_reach in the unit of x
  const float x = std::abs(high) * 0.83255461f;  // sqrt(1 / (2 half_log2e)): of error functions
  const float tail = x < farthest ? 0.5f * single_lane::fitted_complement(std::fmin(x, farthest)) : 0.0f;
  return (high < 0) != mirrored ? tail : 1.0f - tail;
}

/// A row of an event's ellipse. Its pixels are numbered from the one nearest to the ellipse's middle.
template <StripForm form>
struct PixelRow {
  float exponent0, exponent1, exponent2;  // -b C^-1 b half_log2e at pixel k: polynomial of k
  float mixed0, mixed1, norm0, norm1;     // b C^-1 a and N / half_log2e
  float factor;                           // of P
  int column;                             // of pixel 0

  static constexpr float least_exponent = -strip_cut * half_log2e;  // in the ellipse

  PixelRow() = default;
  /// The row `dy` mm above the emission.
  TOFSTREAM_HOST_DEVICE PixelRow(const RowEvent& e, float dy) {
    const float centre = std::fma(dy, e.slope, e.centre), added = centre + whole_unit, rounded = added - whole_unit;
    const float from = rounded - centre;
    column = whole_of(added);
    exponent2 = e.across;
    const float change = e.across * from;
    exponent1 = change + change;
    exponent0 = std::fma(change, from, e.along * dy * dy);
    norm0 = std::fma(std::fma(e.n2, dy, e.n1), dy, e.n0);
    if constexpr (form == StripForm::gaussian) {
      factor = reciprocal_square_root(norm0);
      mixed0 = mixed1 = norm1 = 0;
    } else {
      factor = 1;
      mixed1 = std::fma(e.s1, dy, e.s0);
      mixed0 = std::fma(mixed1, from, std::fma(e.m2, dy, e.m1) * dy);
      norm1 = e.norm_slope * mixed1;
      norm0 = std::fma(norm1, from, norm0);
    }
  }

  /// Whether some of the row may lie in the ellipse.
  TOFSTREAM_HOST_DEVICE static bool reached(const RowEvent& e, float dy) { return e.along * dy * dy >= least_exponent; }

  /// Whether N stays above its least value for `reach` pixels to either side.
  TOFSTREAM_HOST_DEVICE bool regular(const RowEvent& e, int reach) const {
    if constexpr (form == StripForm::gaussian) return true;
    return std::fma(-static_cast<float>(reach), std::abs(norm1), norm0) >= e.least_norm;
  }

  /// P / (scale factor) of pixel k, for the full form without what the strips' ends do.
  TOFSTREAM_HOST_DEVICE float density(int k) const {
    return density(k, [](float, float) { return 1.0f; });
  }
  /// P / (scale factor) of pixel k, times the share of its angles below `angle`, an end's; `mirrored`: above.
  TOFSTREAM_HOST_DEVICE float density_below(const RowEventRest& e, int k, float angle, bool mirrored) const {
    return density(
        k, [&](float root, float turn) { return share_below(std::fma(angle - e.angle, root, turn), mirrored); });
  }

 private:
  /// share(sqrt(N), b C^-1 a / sqrt(N)) multiplies P.
  template <class Share>
  TOFSTREAM_HOST_DEVICE float density(int k, const Share& share) const {
    const auto number = static_cast<float>(k);
    const float exponent = std::fma(std::fma(exponent2, number, exponent1), number, exponent0);
    float p;
    if constexpr (form == StripForm::gaussian) {
      p = power_of_two(exponent);
    } else {
      const float norm = std::fma(norm1, number, norm0), deviation = reciprocal_square_root(norm);
      const float turn = std::fma(mixed1, number, mixed0) * deviation;
      p = deviation * power_of_two(std::fma(turn, turn, exponent)) * share(norm * deviation, turn);
    }
    return exponent >= least_exponent ? p : 0.0f;
  }
};

}  // namespace tofstream::strip
// SPDX-License-Identifier: Apache-2.0
