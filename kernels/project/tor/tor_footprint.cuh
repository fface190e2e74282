// What a visit of a tube touches in its tile, and with which weights (tor_tiled.cu): the section of the tube by each
// slice, in windows of a few voxels or row by row.
#pragma once

#include <cstdint>

#include "kernels/project/tiled/em_tiles.cuh"
#include "kernels/project/tor/radial.hpp"
#include "kernels/project/tor/weight-inl.hpp"

namespace tofstream::tor {

using tiled::AxisTiles;
using tiled::Visit;

/// What a visit's direction makes of a voxel's place in its slice: as Tube has it, from the visit's slopes.
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

/// Adding 1.5 * 2^23 to a number below 2^22 leaves no room for a fraction: the sum's low bits are the whole number.
constexpr float magic = 12582912.0f;
constexpr std::uint32_t magic_bits = 0x4B400000u;

__device__ inline float whole_up(float x) {
  return __fadd_ru(x, magic) - magic;
}
__device__ inline float whole_down(float x) {
  return __fadd_rd(x, magic) - magic;
}

/// The same number, which the compiler is to keep rather than compute anew at each use.
__device__ inline float kept(float x) {
  asm("" : "+f"(x));
  return x;
}

/// The exponent of the weight's power of two about a crossing, quadratic in columns a and rows b from it:
/// aa a^2 + ab a b + bb b^2 + u_rate (u0 (2 (p_along a + q_along b) + u0)).
struct Exponent {
  float aa, ab, bb, a_tilt, b_tilt, u_rate;

  __device__ Exponent(const Ellipse& ellipse, float radial_rate, float tof_rate)
      : aa(kept(fmaf(radial_rate, ellipse.pp, tof_rate * ellipse.p_along * ellipse.p_along))),
        ab(kept(fmaf(radial_rate, ellipse.pq, 2 * tof_rate * ellipse.p_along * ellipse.q_along))),
        bb(kept(fmaf(radial_rate, ellipse.qq, tof_rate * ellipse.q_along * ellipse.q_along))),
        a_tilt(kept(2 * tof_rate * ellipse.p_along)),
        b_tilt(kept(2 * tof_rate * ellipse.q_along)),
        u_rate(tof_rate) {}
  __device__ float at(float a, float b, float u0) const {
    const float of_a = fmaf(aa, a, fmaf(ab, b, a_tilt * u0)), of_b = fmaf(bb, b, b_tilt * u0);
    return fmaf(a, of_a, fmaf(b, of_b, u_rate * u0 * u0));
  }
  /// What it grows by from column a to a + 1.
  __device__ float column_step(float a, float b, float u0) const {
    return fmaf(aa, fmaf(2.0f, a, 1.0f), fmaf(ab, b, a_tilt * u0));
  }
  /// What it grows by from row b to b + 1.
  __device__ float row_step(float a, float b, float u0) const {
    return fmaf(bb, fmaf(2.0f, b, 1.0f), fmaf(ab, a, b_tilt * u0));
  }
};

template <Radial radial, bool tof>
struct TorFootprint {
  static constexpr bool is_gaussian = radial != Radial::table && radial != Radial::blob;
  float radius2, radial_rate, tof_rate, tof_cut, table_rate, largest;
  BlobPolynomial polynomial;
  const float* table;

  TorFootprint(const Pass& pass, const float* radial_table, float table_peak)
      : radius2(pass.model.radius2),
        radial_rate(is_gaussian ? -pass.model.radial_rate : 0.0f),
        tof_rate(tof ? -pass.tof.rate : 0.0f),
        tof_cut(static_cast<float>(pass.tof.cut_mm)),
        table_rate(pass.model.table_steps_per_mm),
        largest(is_gaussian ? 1.0f : table_peak),
        polynomial(pass.model.polynomial),
        table(radial_table) {}

  static constexpr bool short_visits = false;  // and they need the registers
  static constexpr int threads = has_windows(radial) ? 640 : 1024;
  static float unit() { return 1; }
  float largest_weight() const { return largest; }

  __device__ float table_at(float r2) const {
    const float place = sqrtf(fmaxf(fminf(r2, radius2), 0.0f)) * table_rate;
    const float left = fminf(floorf(place), RadialResponse::samples - 2);
    const float* sample = table + static_cast<int>(left);
    return fmaf(place - left, __ldg(sample + 1) - __ldg(sample), __ldg(sample));
  }

  __device__ float blob_at(float w2) const {
    const float inside = fmaxf(w2, 1e-30f);  // its root is finite
    return single_lane::blob_response(polynomial, inside, inside * rsqrtf(inside));
  }

  /// Calls use(what, limit, word, row's weight, voxel's factor) for windows of a few voxels that hold the tube's
  /// section by a slice: a voxel counts where what <= limit, its weight is the product of the two times `value`. Both
  /// go on from voxel to voxel by multiplications: 2^exponent is a row's part, a column's part, and a twist to the
  /// power of row times column. The lanes of `together` go through slices and windows in step, as far as the last of
  /// them needs. Where a window is too small, it mostly lacks one row or column: more come one at a time.
  template <class Use>
  __device__ void by_windows(const AxisTiles& axis, const Visit& visit, float value, unsigned together,
                             Use&& use) const {
    const Ellipse ellipse(axis, visit, radius2);
    if (__any_sync(together,
                   exceeds_window(ellipse.p_half, ellipse.q_half, window_columns_of(radial), window_rows_of(radial)))) {
      by_windows_of<true>(axis, visit, ellipse, value, together, use);
    } else {
      by_windows_of<false>(axis, visit, ellipse, value, together, use);
    }
  }

  template <bool several, class Use>
  __device__ void by_windows_of(const AxisTiles& axis, const Visit& visit, const Ellipse& ellipse, float value,
                                unsigned together, Use&& use) const {
    constexpr int columns = window_columns_of(radial), rows = window_rows_of(radial);
    const Exponent exponent(ellipse, radial_rate, tof_rate);
    const Bends bends(exponent);
    const float whole_u = tof_cut - fabsf(ellipse.p_along) * ellipse.p_half - fabsf(ellipse.q_along) * ellipse.q_half;
    const int planes = static_cast<int>(__reduce_max_sync(together, static_cast<unsigned>(visit.count())));
    // Where the box about the section begins. Adding the magic number, rounded up, leaves a whole number in the low
    // bits.
    const float p_start = visit.u - ellipse.p_half, q_start = visit.v - ellipse.q_half;
    const auto row_stride = static_cast<std::uint32_t>(axis.row_stride);
    const float last_column = kept(magic + static_cast<float>(axis.stored[1] - 1));
    const float last_row = kept(magic + static_cast<float>(axis.stored[2] - 1));
    std::uint32_t slice = static_cast<std::uint32_t>(visit.first() * axis.plane_stride) - magic_bits * (row_stride + 1);
    for (int plane = 0; plane < planes; ++plane, slice += static_cast<std::uint32_t>(axis.plane_stride)) {
      const auto k = static_cast<float>(plane);
      const bool present = plane < visit.count();
      const float p_low = fmaf(k, visit.du, p_start), q_low = fmaf(k, visit.dv, q_start);
      const float column = fmaxf(__fadd_ru(p_low, magic), magic), row = fmaxf(__fadd_ru(q_low, magic), magic);
      const std::uint32_t word = slice + __float_as_uint(row) * row_stride + __float_as_uint(column);
      const Window window{column - magic - p_low - ellipse.p_half,
                          row - magic - q_low - ellipse.q_half,
                          fmaf(k, visit.dz, visit.z),
                          last_column - column,
                          present ? last_row - row : -1.0f,
                          present ? word : 0};  // an absent lane's could lie anywhere
      const bool cut = tof && __any_sync(together, present && fabsf(window.u) > whole_u);
      if (cut) {
        through_window<columns, rows, true>(ellipse, exponent, bends, window, row_stride, value, use);
      } else {
        through_window<columns, rows, false>(ellipse, exponent, bends, window, row_stride, value, use);
      }
      if constexpr (!several) continue;
      const auto more_rows = [&](const Window& at) {
        return __any_sync(together, at.b <= ellipse.q_half && at.rows >= 0);
      };
      for (Window below = window.moved(0, rows, row_stride); more_rows(below); below = below.moved(0, 1, row_stride))
        through_window<columns, 1, tof>(ellipse, exponent, bends, below, row_stride, value, use);
      for (Window beside = window.moved(columns, 0, row_stride);
           __any_sync(together, beside.a <= ellipse.p_half && beside.columns >= 0);
           beside = beside.moved(1, 0, row_stride)) {
        Window at = beside;
        do {
          through_window<1, rows, tof>(ellipse, exponent, bends, at, row_stride, value, use);
          at = at.moved(0, rows, row_stride);
        } while (more_rows(at));
      }
    }
  }

  /// Some rows and columns of a slice.
  struct Window {
    float a, b;           // the first column's and row's distance from the line's crossing
    float u;              // of the crossing
    float columns, rows;  // how many follow the first, in the tile
    std::uint32_t word;   // of the first voxel

    __device__ Window moved(int by_columns, int by_rows, std::uint32_t row_stride) const {
      const auto c = static_cast<float>(by_columns), r = static_cast<float>(by_rows);
      return {
          a + c,    b + r,
          u,        columns - c,
          rows - r, word + static_cast<std::uint32_t>(by_columns) + static_cast<std::uint32_t>(by_rows) * row_stride};
    }
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

  template <int window_columns, int window_rows, bool cut, class Use>
  __device__ void through_window(const Ellipse& ellipse, const Exponent& exponent, const Bends& bends,
                                 const Window& window, std::uint32_t row_stride, float value, Use&& use) const {
    float row_weight = value * tiled::fast_exp2(exponent.at(window.a, window.b, window.u));
    float row_ratio = tiled::fast_exp2(exponent.row_step(window.a, window.b, window.u));
    float ratio = tiled::fast_exp2(exponent.column_step(window.a, window.b, window.u));
    float a[window_columns], a_r2[window_columns], factor[window_columns], twist[window_columns];
#pragma unroll
    for (int c = 0; c < window_columns; ++c) {
      a[c] = window.a + static_cast<float>(c);
      a_r2[c] = window.columns >= static_cast<float>(c) ? ellipse.pp * a[c] * a[c] : INFINITY;
      factor[c] = c > 0 ? factor[c - 1] * ratio : use.first_factor();
      twist[c] = c > 0 ? twist[c - 1] * bends.twist : 1.0f;
      if (c > 0) ratio *= bends.column;
    }
    std::uint32_t word = window.word;
    float b_a = ellipse.pq * window.b, b_u = fmaf(ellipse.q_along, window.b, window.u);
    const float b_qq = -ellipse.qq * window.b;
    float within = fmaf(b_qq, window.b, radius2), within_step = fmaf(2.0f, b_qq, -ellipse.qq);
#pragma unroll
    for (int r = 0; r < window_rows; ++r) {
      const float limit = window.rows >= static_cast<float>(r) ? within : -INFINITY;
#pragma unroll
      for (int c = 0; c < window_columns; ++c) {
        float of_column = fmaf(a[c], b_a, a_r2[c]);  // r^2 without what the row gives
        if constexpr (cut) of_column = fabsf(fmaf(ellipse.p_along, a[c], b_u)) <= tof_cut ? of_column : INFINITY;
        float weight = factor[c];
        if constexpr (radial == Radial::blob) weight *= blob_at((limit - of_column) * polynomial.inverse_radius2);
        use(of_column, limit, word + static_cast<std::uint32_t>(c), row_weight, weight);
        factor[c] *= twist[c];
      }
      use.end_row(row_weight);
      row_weight *= row_ratio;
      row_ratio *= bends.row;
      b_a += ellipse.pq;
      within += within_step;
      within_step -= 2 * ellipse.qq;
      if constexpr (cut) b_u += ellipse.q_along;
      word += row_stride;
    }
  }

  /// The same for wide tubes, where it pays to find the columns between which a row of the section lies. Calls
  /// use as above.
  template <class Use>
  __device__ void by_rows(const AxisTiles& axis, const Visit& visit, float value, unsigned together, Use&& use) const {
    constexpr int columns = 4;  // at a time
    const Ellipse ellipse(axis, visit, radius2);
    const Exponent exponent(ellipse, radial_rate, tof_rate);
    const float column_bend = tiled::fast_exp2(2 * exponent.aa);
    const auto last_column = static_cast<float>(axis.stored[1] - 1), last_row = static_cast<float>(axis.stored[2] - 1);
    const int planes = static_cast<int>(__reduce_max_sync(together, static_cast<unsigned>(visit.count())));
    int slice = visit.first() * axis.plane_stride;
    for (int plane = 0; plane < planes; ++plane, slice += axis.plane_stride) {
      const auto k = static_cast<float>(plane);
      const bool present = plane < visit.count();
      const float p = fmaf(k, visit.du, visit.u), q = fmaf(k, visit.dv, visit.v), u0 = fmaf(k, visit.dz, visit.z);
      const float begin_row = fmaxf(whole_up(q - ellipse.q_half), 0.0f);
      const float end_row = present ? fminf(whole_down(q + ellipse.q_half), last_row) : -1.0f;
      const int own_rows = static_cast<int>(end_row - begin_row) + 1;
      const int rows = __reduce_max_sync(together, own_rows);
      float b = begin_row - q;
      int row_word = slice + static_cast<int>(begin_row) * axis.row_stride;
      for (int row = 0; row < rows; ++row, b += 1, row_word += axis.row_stride) {
        const float row_u = fmaf(ellipse.q_along, b, u0);
        const float half2 = fmaf(-ellipse.row_narrowing * b, b, ellipse.row_half2);
        const float half = half2 > 0 ? half2 * rsqrtf(half2) : 0.0f, centre = ellipse.shear * b;
        float low = centre - half, high = centre + half;
        if (tof && fabsf(row_u) + fabsf(ellipse.p_along) * fmaxf(-low, high) > tof_cut) {
          const float at1 = (-tof_cut - row_u) / ellipse.p_along, at2 = (tof_cut - row_u) / ellipse.p_along;
          low = fmaxf(low, fminf(at1, at2));
          high = fminf(high, fmaxf(at1, at2));
        }
        const float first = fminf(fmaxf(whole_up(p + low), 0.0f), last_column + 1);
        const float last = row < own_rows ? fminf(whole_down(p + high), last_column) : -1.0f;
        const int steps = __reduce_max_sync(together, (static_cast<int>(last - first) + columns) / columns);
        float a = first - p, past = first - last;  // beyond the last column where positive
        float weight = value * tiled::fast_exp2(exponent.at(a, b, u0));
        float ratio = tiled::fast_exp2(exponent.column_step(a, b, u0));
        auto word = static_cast<std::uint32_t>(row < own_rows ? row_word + static_cast<int>(first) : 0);
        for (int step = 0; step < steps; ++step, past += columns, word += columns) {
          if (past > 0) continue;
#pragma unroll
          for (int c = 0; c < columns; ++c) {
            float weighted = weight;
            if constexpr (radial != Radial::smooth) weighted = value * tiled::fast_exp2(exponent.at(a, b, u0));
            if constexpr (radial == Radial::table)
              weighted *= table_at(fmaf(a, fmaf(ellipse.pp, a, ellipse.pq * b), ellipse.qq * b * b));
            use(past + static_cast<float>(c), 0.0f, word + static_cast<std::uint32_t>(c), use.first_factor(), weighted);
            weight *= ratio;
            ratio *= column_bend;
            a += 1;
          }
        }
      }
    }
  }

  template <class Use>
  __device__ void for_each_voxel(const AxisTiles& axis, const Visit& visit, float value, unsigned together,
                                 Use&& use) const {
    if constexpr (has_windows(radial)) {
      by_windows(axis, visit, value, together, use);
    } else {
      by_rows(axis, visit, value, together, use);
      use.end_row(1.0f);
    }
  }

  /// Sums weighted voxels, a row's sum before its weight.
  struct Gather {
    const float* tile;
    float row = 0, sum = 0;

    static constexpr float first_factor() { return 1; }
    __device__ void operator()(float what, float limit, std::uint32_t word, float, float factor) {
      if (what <= limit) row = fmaf(factor, tile[word], row);
    }
    __device__ void end_row(float weight) {
      sum = fmaf(weight, row, sum);
      row = 0;
    }
  };
  __device__ float forward(const float* tile, const AxisTiles& axis, const Visit& visit) const {
    Gather gather{tile};
    for_each_voxel(axis, visit, 1.0f, 0xffffffffu, gather);
    return gather.sum;
  }

  template <class Add>
  struct Scatter {
    Add add;

    static constexpr float first_factor() { return Add::factor(); }
    __device__ void operator()(float what, float limit, std::uint32_t word, float weight, float factor) {
      add.add_where(what, limit, word, weight * factor);
    }
    __device__ void end_row(float) {}
  };
  template <class Add>
  __device__ void back(const AxisTiles& axis, const Visit& visit, float value, const Add& add) const {
    for_each_voxel(axis, visit, value, add.together, Scatter<Add>{add});
  }
};

}  // namespace tofstream::tor
