// What a visit of a tube touches in its tile, and with which weights (tor_tiled.cu): the section of the tube by each
// slice, in windows of a few voxels or row by row.
#pragma once

#include <cstdint>

#include "kernels/project/tiled/tile_kernels.cuh"
#include "kernels/ring/tor/footprint_exponent.cuh"
#include "kernels/ring/tor/footprint_tof.cuh"
#include "kernels/ring/tor/radial.hpp"
#include "kernels/ring/tor/section_sum.hpp"
#include "kernels/ring/tor/weight-inl.hpp"

namespace tofstream::tor {

__device__ inline float whole_up(float x) {
  return raised_above(x) - whole_unit;
}
__device__ inline float whole_down(float x) {
  return raised_below(x) - whole_unit;
}

/// `by_slice`: with Normalise::slice.
template <Radial radial, Tof tof, bool by_slice = false>
struct TorFootprint {
  static_assert(!by_slice || normalises_slices(radial));
  static constexpr bool is_gaussian = radial != Radial::table && radial != Radial::blob;
  static constexpr bool has_tof = tof != Tof::none;
  float radius2, radial_rate, reach, table_rate, largest, tof_unit;
  FootprintTof<tof> tof_response;
  BlobPolynomial polynomial;
  const float* table;

  /// `response_unit`: what tof_response lacks.
  TorFootprint(const Pass& pass, const FootprintTof<tof>& response, float response_unit, const float* radial_table,
               float table_peak)
      : radius2(pass.model.radius2),
        radial_rate(is_gaussian ? -pass.model.radial_rate : 0.0f),
        reach(static_cast<float>(pass.reach_mm(0))),
        table_rate(pass.model.table_steps_per_mm),
        largest(is_gaussian ? 1.0f : table_peak),
        tof_unit(response_unit),
        tof_response(response),
        polynomial(pass.model.polynomial),
        table(radial_table) {}

  static constexpr bool short_visits = false;  // prefetching visits would take registers that footprints need
  static constexpr int threads = has_windows(radial) ? 640 : 1024;
  float unit() const { return tof_unit; }
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
    constexpr int columns = window_columns_of(radial), fewer = sorted_columns_of(radial), rows = window_rows_of(radial);
    const auto some_exceed = [&](int of_columns) {
      return __any_sync(together, exceeds_window(ellipse.p_half, ellipse.q_half, of_columns, rows));
    };
    if (!some_exceed(fewer)) {
      by_windows_of<fewer, false>(axis, visit, ellipse, value, together, use);
    } else if (fewer < columns && !some_exceed(columns)) {
      by_windows_of<columns, false>(axis, visit, ellipse, value, together, use);
    } else {
      by_windows_of<columns, true>(axis, visit, ellipse, value, together, use);
    }
  }

  template <int columns, bool several, class Use>
  __device__ void by_windows_of(const AxisTiles& axis, const Visit& visit, const Ellipse& ellipse, float value,
                                unsigned together, Use&& use) const {
    constexpr int rows = window_rows_of(radial);
    constexpr bool constant = tof != Tof::pieces;
    const Exponents<constant> exponents(ellipse, radial_rate, tof_response.about(0).bend);
    const Bends constant_bends(exponents.with({}));
    const float whole_u =
        tof_response.whole_mm - fabsf(ellipse.p_along) * ellipse.p_half - fabsf(ellipse.q_along) * ellipse.q_half;
    const int planes = static_cast<int>(__reduce_max_sync(together, static_cast<unsigned>(visit.count())));
    // Where the box about the section begins.
    const float p_start = visit.u - ellipse.p_half, q_start = visit.v - ellipse.q_half;
    const auto row_stride = static_cast<std::uint32_t>(axis.row_stride);
    const float last_column = kept(whole_unit + static_cast<float>(axis.stored[1] - 1));
    const float last_row = kept(whole_unit + static_cast<float>(axis.stored[2] - 1));
    std::uint32_t slice =
        static_cast<std::uint32_t>(visit.first() * axis.plane_stride) - whole_unit_bits * (row_stride + 1);
    auto coming = tof_response.fetch(visit.z);  // a slice ahead
    for (int plane = 0; plane < planes; ++plane, slice += static_cast<std::uint32_t>(axis.plane_stride)) {
      const auto k = static_cast<float>(plane);
      const bool present = plane < visit.count();
      const float p_low = fmaf(k, visit.du, p_start), q_low = fmaf(k, visit.dv, q_start);
      const float column = fmaxf(raised_above(p_low), whole_unit), row = fmaxf(raised_above(q_low), whole_unit);
      const std::uint32_t word = slice + __float_as_uint(row) * row_stride + __float_as_uint(column);
      const float u = fmaf(k, visit.dz, visit.z);
      const LocalTof local = tof_response.about(coming);
      coming = tof_response.fetch(u + visit.dz);
      const Exponent exponent = exponents.with(local);
      const Bends bends = constant ? constant_bends : Bends(exponent);
      const Section section{ellipse,
                            exponent,
                            bends,
                            local.ramp,
                            local.climb * ellipse.p_along,
                            local.climb * ellipse.q_along,
                            row_stride,
                            by_slice ? value * slice_factor_at(ellipse, p_low, q_low) : value};
      const Window window{column - whole_unit - p_low - ellipse.p_half, row - whole_unit - q_low - ellipse.q_half,
                          last_column - column, present ? last_row - row : -1.0f,
                          present ? word : 0};  // an absent lane's could lie anywhere
      const bool ramped = has_tof && __any_sync(together, present && fabsf(u) > whole_u);
      if (ramped) {
        through_window<columns, rows, true>(section, window, use);
      } else {
        through_window<columns, rows, false>(section, window, use);
      }
      if constexpr (!several) continue;
      const auto more_rows = [&](const Window& at) {
        return __any_sync(together, at.b <= ellipse.q_half && at.rows >= 0);
      };
      for (Window below = window.moved(0, rows, row_stride); more_rows(below); below = below.moved(0, 1, row_stride))
        through_window<columns, 1, has_tof>(section, below, use);
      for (Window beside = window.moved(columns, 0, row_stride);
           __any_sync(together, beside.a <= ellipse.p_half && beside.columns >= 0);
           beside = beside.moved(1, 0, row_stride)) {
        Window at = beside;
        do {
          through_window<1, rows, has_tof>(section, at, use);
          at = at.moved(0, rows, row_stride);
        } while (more_rows(at));
      }
    }
  }

  /// The factor by which Normalise::slice scales the weights of the slice in which the box about the tube's section
  /// begins at column p_low and row q_low.
  __device__ float slice_factor_at(const Ellipse& ellipse, float p_low, float q_low) const {
    return slice_factor(section_sum(ellipse, p_low + ellipse.p_half, q_low + ellipse.q_half, [&](float a, float b) {
      return tiled::fast_exp2(radial_rate * fmaf(a, fmaf(ellipse.pp, a, ellipse.pq * b), ellipse.qq * b * b));
    }));
  }

  /// A tube's section by a slice: the exponent about the line's crossing and what it grows by, and ToF's ramp there.
  struct Section {
    const Ellipse& ellipse;
    const Exponent& exponent;
    const Bends& bends;
    float ramp, ramp_column, ramp_row;  // at the crossing, and by what it grows from column to column and row to row
    std::uint32_t row_stride;
    float value;
  };
  /// Some rows and columns of a slice.
  struct Window {
    float a, b;           // the first column's and row's distance from the line's crossing
    float columns, rows;  // how many follow the first, in the tile
    std::uint32_t word;   // of the first voxel

    __device__ Window moved(int by_columns, int by_rows, std::uint32_t row_stride) const {
      const auto c = static_cast<float>(by_columns), r = static_cast<float>(by_rows);
      return {a + c, b + r, columns - c, rows - r,
              word + static_cast<std::uint32_t>(by_columns) + static_cast<std::uint32_t>(by_rows) * row_stride};
    }
  };
  /// `ramped`: where ToF's ramp is less than 1 for some voxel.
  template <int window_columns, int window_rows, bool ramped, class Use>
  __device__ void through_window(const Section& section, const Window& window, Use&& use) const {
    const Ellipse& ellipse = section.ellipse;
    const Exponent& exponent = section.exponent;
    float row_weight = section.value * tiled::fast_exp2(exponent.at(window.a, window.b));
    float row_ratio = tiled::fast_exp2(exponent.row_step(window.a, window.b));
    float ratio = tiled::fast_exp2(exponent.column_step(window.a, window.b));
    float a[window_columns], a_r2[window_columns], factor[window_columns], twist[window_columns];
    float ramp_of_column[window_columns];
#pragma unroll
    for (int c = 0; c < window_columns; ++c) {
      a[c] = window.a + static_cast<float>(c);
      a_r2[c] = window.columns >= static_cast<float>(c) ? ellipse.pp * a[c] * a[c] : INFINITY;
      factor[c] = c > 0 ? factor[c - 1] * ratio : use.first_factor();
      twist[c] = c > 0 ? twist[c - 1] * section.bends.twist : 1.0f;
      if (c > 0) ratio *= section.bends.column;
      if constexpr (ramped) ramp_of_column[c] = section.ramp_column * a[c];
    }
    std::uint32_t word = window.word;
    float b_a = ellipse.pq * window.b, ramp_of_row = fmaf(section.ramp_row, window.b, section.ramp);
    const float b_qq = -ellipse.qq * window.b;
    float within = fmaf(b_qq, window.b, radius2), within_step = fmaf(2.0f, b_qq, -ellipse.qq);
#pragma unroll
    for (int r = 0; r < window_rows; ++r) {
      const float limit = window.rows >= static_cast<float>(r) ? within : -INFINITY;
#pragma unroll
      for (int c = 0; c < window_columns; ++c) {
        const float of_column = fmaf(a[c], b_a, a_r2[c]);  // r^2 without what the row gives
        float weight = factor[c];
        if constexpr (ramped) weight *= tof_response.shaped(__saturatef(ramp_of_column[c] + ramp_of_row));
        if constexpr (radial == Radial::blob) weight *= blob_at((limit - of_column) * polynomial.inverse_radius2);
        use(of_column, limit, word + static_cast<std::uint32_t>(c), row_weight, weight);
        factor[c] *= twist[c];
      }
      use.end_row(row_weight);
      row_weight *= row_ratio;
      row_ratio *= section.bends.row;
      b_a += ellipse.pq;
      within += within_step;
      within_step -= 2 * ellipse.qq;
      if constexpr (ramped) ramp_of_row += section.ramp_row;
      word += section.row_stride;
    }
  }

  /// The same for wide tubes, where it pays to find the columns between which a row of the section lies. Calls
  /// use as above.
  template <class Use>
  __device__ void by_rows(const AxisTiles& axis, const Visit& visit, float value, unsigned together, Use&& use) const {
    constexpr bool constant = tof != Tof::pieces;
    const Ellipse ellipse(axis, visit, radius2);
    const Exponents<constant> exponents(ellipse, radial_rate, tof_response.about(0).bend);
    const float column_bend = kept(tiled::fast_exp2(2 * exponents.without_tof().aa));
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
      Exponent exponent = exponents.without_tof();
      if constexpr (constant) exponent = exponents.with(tof_response.about(u0));
      const Rows all_rows{ellipse, exponent, column_bend, value};
      float b = begin_row - q;
      int row_word = slice + static_cast<int>(begin_row) * axis.row_stride;
      for (int row = 0; row < rows; ++row, b += 1, row_word += axis.row_stride) {
        const float half2 = fmaf(-ellipse.row_narrowing * b, b, ellipse.row_half2);
        const float half = half2 > 0 ? half2 * rsqrtf(half2) : 0.0f, centre = ellipse.shear * b;
        const RowPlace at{p,
                          b,
                          fmaf(ellipse.q_along, b, u0),
                          centre - half,
                          centre + half,
                          row < own_rows ? last_column : -1.0f,
                          row_word};
        if constexpr (tof == Tof::none) {
          along_row(all_rows, at.columns(at.low, at.high), together, use);
        } else if constexpr (tof == Tof::step || tof == Tof::pieces) {
          along_row(all_rows, at.columns_within(ellipse, reach), together, use);
        } else {
          // The ramp of a narrow bin takes a column or none at either end of a row.
          const Columns all = at.columns_within(ellipse, reach),
                        whole = at.columns_within(ellipse, tof_response.whole_mm);
          along_row(all_rows, whole, together, use);
          through_ramp(ellipse, all, whole, together, value, use);
        }
      }
    }
  }

  /// Columns of a row: where the first one lies from the line's crossing and along the line, how many, and its word.
  struct Columns {
    float a, b, u, count;
    std::uint32_t word;
  };
  /// A row of a section.
  struct RowPlace {
    float p, b, u;      // the crossing's column, the row from it, the place of the crossing's column along the line
    float low, high;    // between which columns from the crossing
    float last_column;  // of the tile; negative: no row
    int word;           // of column 0

    __device__ Columns columns(float from, float to) const {
      const float first = fminf(fmaxf(whole_up(p + from), 0.0f), fmaxf(last_column, 0.0f) + 1);
      const float last = fminf(whole_down(p + to), last_column);
      return {first - p, b, u, fmaxf(last - first + 1, 0.0f),
              last_column < 0 ? 0u : static_cast<std::uint32_t>(word + static_cast<int>(first))};
    }
    /// Those at most `limit` from the ToF centre.
    __device__ Columns columns_within(const Ellipse& ellipse, float limit) const {
      float from = low, to = high;
      if (fabsf(u) + fabsf(ellipse.p_along) * fmaxf(-low, high) > limit) {
        const float at1 = (-limit - u) / ellipse.p_along, at2 = (limit - u) / ellipse.p_along;
        from = fmaxf(from, fminf(at1, at2));
        to = fminf(to, fmaxf(at1, at2));
      }
      return columns(from, to);
    }
  };

  /// The rows of a section: the exponent about its crossing, of pieces without ToF; what a column's step grows by from
  /// one to the next, but of pieces.
  struct Rows {
    const Ellipse& ellipse;
    const Exponent& exponent;
    float column_bend, value;
  };

  /// A smooth weight goes on from column to column by multiplications: all along the row, or as far as a piece serves.
  struct RowWeight {
    float value, ratio, bend, ramp, climb;

    /// From column a on.
    __device__ RowWeight(const Rows& rows, float a, float b)
        : value(rows.value * tiled::fast_exp2(rows.exponent.at(a, b))),
          ratio(tiled::fast_exp2(rows.exponent.column_step(a, b))),
          bend(rows.column_bend) {}
    /// The same by a piece `ahead` columns further.
    __device__ RowWeight(const Rows& rows, const LocalTof& piece, float a, float b, float ahead) {
      const float p = rows.ellipse.p_along, v = -ahead * p;
      const float level = fmaf(v, fmaf(v, piece.bend, piece.slope), piece.level);
      const float step = p * fmaf(piece.bend, fmaf(2.0f, v, p), piece.slope);
      value = rows.value * tiled::fast_exp2(rows.exponent.at(a, b) + level);
      ratio = tiled::fast_exp2(rows.exponent.column_step(a, b) + step);
      bend = tiled::fast_exp2(2 * fmaf(piece.bend, p * p, rows.exponent.aa));
      ramp = fmaf(v, piece.climb, piece.ramp);
      climb = p * piece.climb;
    }
    __device__ void advance() {
      value *= ratio;
      ratio *= bend;
    }
  };

  /// All columns of a row, several at a time, with the ramp of pieces alone.
  template <class Use>
  __device__ void along_row(const Rows& rows, const Columns& columns, unsigned together, Use&& use) const {
    constexpr bool pieces = tof == Tof::pieces;
    const int steps = __reduce_max_sync(together, (static_cast<int>(columns.count) + row_columns - 1) / row_columns);
    float a = columns.a, past = 1 - columns.count;  // beyond the last column where positive
    float u = fmaf(rows.ellipse.p_along, a, columns.u);
    std::uint32_t word = columns.word;
    const float p_along = rows.ellipse.p_along;
    const auto weight_from = [&](float at_u, float at_a) {
      if constexpr (pieces) {
        const auto most = static_cast<float>(row_columns * tof_response.steps_a_piece);
        const float ahead = 0.5f * (fminf(most, columns.count) - 1);
        return RowWeight(rows, tof_response.about(fmaf(ahead, p_along, at_u)), at_a, columns.b, ahead);
      } else {
        return RowWeight(rows, at_a, columns.b);
      }
    };
    RowWeight weight = weight_from(u, a);
    int of_piece = 0;  // steps
    for (int step = 0; step < steps; ++step, past += row_columns, word += row_columns) {
      if (past > 0) continue;
      if constexpr (pieces) {
        if (of_piece++ == tof_response.steps_a_piece) {
          weight = weight_from(u, a);
          of_piece = 1;
        }
      }
#pragma unroll
      for (int c = 0; c < row_columns; ++c) {
        float weighted;
        if constexpr (radial == Radial::smooth) {
          weighted = weight.value;
          if constexpr (pieces) weighted *= __saturatef(fmaf(static_cast<float>(c), weight.climb, weight.ramp));
          weight.advance();
        } else {
          weighted = rows.value * weight_at(rows.ellipse, a, columns.b, u);
        }
        use(past + static_cast<float>(c), 0.0f, word + static_cast<std::uint32_t>(c), use.first_factor(), weighted);
        a += 1;
        u += p_along;
      }
      if constexpr (pieces) weight.ramp = fmaf(row_columns, weight.climb, weight.ramp);
    }
  }

  /// The columns of `all` that are not of `whole`, one at a time.
  template <class Use>
  __device__ void through_ramp(const Ellipse& ellipse, const Columns& all, const Columns& whole, unsigned together,
                               float value, Use&& use) const {
    const float before = whole.count > 0 ? whole.a - all.a : all.count, left = all.count - whole.count;
    const int steps = __reduce_max_sync(together, static_cast<int>(left));
    for (int step = 0; step < steps; ++step) {
      const auto n = static_cast<float>(step);
      const float column = n < before ? n : n + whole.count, a = all.a + column;
      const float u = fmaf(ellipse.p_along, a, all.u);
      const float weighted = value * weight_at(ellipse, a, all.b, u);
      use(n < left ? -1.0f : 1.0f, 0.0f, n < left ? all.word + static_cast<std::uint32_t>(column) : 0u,
          use.first_factor(), weighted);
    }
  }

  /// The weight of the voxel at column a and row b from the crossing, which lies at u.
  __device__ float weight_at(const Ellipse& ellipse, float a, float b, float u) const {
    const float r2 = fmaf(a, fmaf(ellipse.pp, a, ellipse.pq * b), ellipse.qq * b * b);
    const LocalTof local = tof_response.about(u);
    float weight = tiled::fast_exp2(fmaf(radial_rate, r2, local.level));
    if constexpr (has_tof) weight *= tof_response.shaped(__saturatef(local.ramp));
    if constexpr (radial == Radial::table) weight *= table_at(r2);
    return weight;
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
// SPDX-License-Identifier: Apache-2.0
