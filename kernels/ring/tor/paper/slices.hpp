// The slices of the image across one axis as Cui et al.'s scheme stages them (II.B.2), and the window of a slice that
// a tube's section lies in (II.B.3). Shared by host and device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "kernels/ring/tor/paper/line.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::tor::paper {

/// Voxels [p_first, p_first + columns) x [q_first, q_first + rows) of a slice.
struct Window {
  int p_first = 0, q_first = 0, columns = 0, rows = 0;
};

/// Slices across one axis; a slice too large for shared memory is cut into tiles of whole rows, one after another.
struct Slices {
  int axis = 0, count = 0, columns = 0, rows = 0;
  int tile_rows = 0, tiles = 0;
  int row_stride = 0;                                         // words of a row in shared memory: odd, for its banks
  std::int64_t slice_stride = 0, p_stride = 0, q_stride = 0;  // in the image
  float p_reach = 0, q_reach = 0;  // half extents of a window that holds the section of any tube, in voxels
  int fixed_columns = 0, fixed_rows = 0;

  /// For tubes of the given radius. `words` of shared memory hold at least one row of each grid: validate(Grid) bounds
  /// a row to 16 KiB, and less than one is taken as one.
  static Slices make(const Grid& grid, int axis, double radius_mm, std::int64_t words) {
    const SliceAxes axes = slice_axes(axis);
    Slices s;
    s.axis = axis;
    s.count = grid.size[axis];
    s.columns = grid.size[axes.p];
    s.rows = grid.size[axes.q];
    s.row_stride = s.columns | 1;
    const int most_rows = static_cast<int>(std::clamp<std::int64_t>(words / s.row_stride, 1, s.rows));
    s.tiles = (s.rows + most_rows - 1) / most_rows;
    s.tile_rows = (s.rows + s.tiles - 1) / s.tiles;
    s.tiles = (s.rows + s.tile_rows - 1) / s.tile_rows;
    s.slice_stride = grid.stride(axis);
    s.p_stride = grid.stride(axes.p);
    s.q_stride = grid.stride(axes.q);
    // A section reaches radius sqrt(1 - d_q^2) / d_s across, at most sqrt(2) radii where d_s is the largest: d_p = d_s,
    // d_q = 0. The paper's W = sqrt(2) T_w + S, for slices as thin as a voxel's centre.
    constexpr double hair = 1e-3;  // more than make_tube's and the rounding of a line's record
    s.p_reach = static_cast<float>(std::numbers::sqrt2 * radius_mm / static_cast<double>(grid.voxel_mm[axes.p]) + hair);
    s.q_reach = static_cast<float>(std::numbers::sqrt2 * radius_mm / static_cast<double>(grid.voxel_mm[axes.q]) + hair);
    s.fixed_columns = fixed_count(s.p_reach, s.columns);
    s.fixed_rows = fixed_count(s.q_reach, s.rows);
    return s;
  }

  int tile_words() const { return tile_rows * row_stride; }
  TOFSTREAM_HOST_DEVICE int tile_begin(int tile) const { return tile * tile_rows; }
  TOFSTREAM_HOST_DEVICE int tile_end(int tile) const {
    const int end = (tile + 1) * tile_rows;
    return end < rows ? end : rows;
  }

  /// Whether rows [begin, end) meet the section of `tube` by the slice that it crosses at `at`.
  TOFSTREAM_HOST_DEVICE static bool meets(const Tube& tube, Crossing at, int begin, int end) {
    return at.q + tube.q_half >= static_cast<float>(begin) && at.q - tube.q_half <= static_cast<float>(end - 1);
  }

  /// The window of rows [begin, end) in which the section lies: `fixed`, as many columns and rows for all lines, moved
  /// inside the rows where it sticks out, so that no voxel of it needs a check of bounds; else the rectangle about the
  /// section.
  template <bool fixed>
  TOFSTREAM_HOST_DEVICE Window window(const Tube& tube, Crossing at, int begin, int end) const {
    if constexpr (fixed) {
      const int own_rows = fixed_rows < end - begin ? fixed_rows : end - begin;
      return {clamped(at.p - p_reach, 0, columns - fixed_columns), clamped(at.q - q_reach, begin, end - own_rows),
              fixed_columns, own_rows};
    } else {
      const int p_first = up(at.p - tube.p_half, 0), p_last = down(at.p + tube.p_half, columns - 1);
      const int q_first = up(at.q - tube.q_half, begin), q_last = down(at.q + tube.q_half, end - 1);
      return {p_first, q_first, p_last - p_first + 1, q_last - q_first + 1};
    }
  }

 private:
  static int fixed_count(float reach, int size) {
    return std::min(static_cast<int>(2 * std::min(reach, 4096.0f)) + 1, size);
  }
  TOFSTREAM_HOST_DEVICE static int up(float place, int least) {
    const auto whole = static_cast<int>(std::ceil(place));
    return whole > least ? whole : least;
  }
  TOFSTREAM_HOST_DEVICE static int down(float place, int most) {
    const auto whole = static_cast<int>(std::floor(place));
    return whole < most ? whole : most;
  }
  TOFSTREAM_HOST_DEVICE static int clamped(float place, int least, int most) {
    const int whole = up(place, least);
    return whole < most ? whole : most;
  }
};

/// Calls visit(column, row, weight) for the voxels of a window; those outside the tube have weight 0. Counts columns
/// and rows in floats too: to convert a number takes as long on a GPU as eight additions. `unrolled`: nvcc may unroll
/// the columns (II.B.10); the host's compiler does as it likes.
template <bool unrolled, class Weight, class Visit>
TOFSTREAM_HOST_DEVICE inline void for_each_voxel(const Window& window, Crossing at, const Weight& weight,
                                                 Visit&& visit) {
  const float first_a = static_cast<float>(window.p_first) - at.p, first_b = static_cast<float>(window.q_first) - at.q;
  float rows = 0;
  for (int row = window.q_first; row < window.q_first + window.rows; ++row, rows += 1) {
    const float b = first_b + rows;
    float columns = 0;
    const auto next = [&](int column) {
      visit(column, row, weight(first_a + columns, b, at.u));
      columns += 1;
    };
    const int end = window.p_first + window.columns;
    if constexpr (unrolled) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int column = window.p_first; column < end; ++column) next(column);
    } else {
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
      for (int column = window.p_first; column < end; ++column) next(column);
    }
  }
}

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
