// The tiles of an image in padded slices (slice_layout.hpp) that cover a tube: tile_columns columns by tile_rows rows
// of a slice across its predominant direction, a voxel a lane. A tile's rows are contiguous, so it is loaded and added
// to without gather or scatter. Compiled for every SIMD instruction set.
#if defined(TOFSTREAM_TUBE_TILES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_TUBE_TILES_INL
#undef TOFSTREAM_TUBE_TILES_INL
#else
#define TOFSTREAM_TUBE_TILES_INL
#endif

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/math/lanes-inl.hpp"
#include "kernels/ring/tor/slice_layout.hpp"
#include "kernels/ring/tor/tube.hpp"

TOFSTREAM_LANES_BEGIN

constexpr int lanes = static_cast<int>(hn::MaxLanes(FloatTag()));
constexpr int tile_columns = std::min(lanes, 4);
constexpr int tile_rows = lanes / tile_columns;
static_assert(std::max(tile_rows, tile_columns) - 1 <= tor::SliceLayout::padding);

/// A lane's place in its tile.
HWY_INLINE FloatLanes lane_row() {
  return round_down(lane_index<FloatLanes>() * splat<FloatLanes>(1.0f / tile_columns));
}
HWY_INLINE FloatLanes lane_column() {
  return lane_index<FloatLanes>() - lane_row() * splat<FloatLanes>(tile_columns);
}

/// The tile whose first voxel is at `first`.
template <class D>
HWY_INLINE hn::Vec<D> load_tile(D d, const float* first, [[maybe_unused]] std::int64_t row_stride) {
  if constexpr (hn::MaxLanes(D()) <= tile_columns) {
    return hn::LoadU(d, first);
  }
#if HWY_TARGET != HWY_SCALAR
  else {
    const hn::Half<D> half;
    const std::int64_t rows = static_cast<std::int64_t>(hn::MaxLanes(half)) / tile_columns;
    return hn::Combine(d, load_tile(half, first + rows * row_stride, row_stride), load_tile(half, first, row_stride));
  }
#endif
}

/// Adds `values` to the tile, row after row: rows may overlap in memory where a tile sticks out of
/// a slice.
template <class D>
HWY_INLINE void add_tile(D d, hn::Vec<D> values, float* first, [[maybe_unused]] std::int64_t row_stride) {
  if constexpr (hn::MaxLanes(D()) <= tile_columns) {
    hn::StoreU(hn::LoadU(d, first) + values, d, first);
  }
#if HWY_TARGET != HWY_SCALAR
  else {
    const hn::Half<D> half;
    const std::int64_t rows = static_cast<std::int64_t>(hn::MaxLanes(half)) / tile_columns;
    add_tile(half, hn::LowerHalf(half, values), first, row_stride);
    add_tile(half, hn::UpperHalf(half, values), first + rows * row_stride, row_stride);
  }
#endif
}

/// Between which columns and rows of a slice to look.
struct SliceLimits {
  int first_column, last_column, first_row, last_row;
};

/// Calls visit(its first column, its first row, these two from the crossing) for the tiles that cover the tube's
/// section by a slice, which the line crosses at column p and row q.
template <class Visit>
HWY_INLINE void for_each_tile_of_section(const tor::Tube& tube, double p, double q, const SliceLimits& limits,
                                         Visit&& visit) {
  const int box_first = std::max(static_cast<int>(std::ceil(p - tube.p_half)), limits.first_column);
  const int box_last = std::min(static_cast<int>(std::floor(p + tube.p_half)), limits.last_column);
  const int q_first = std::max(static_cast<int>(std::ceil(q - tube.q_half)), limits.first_row);
  const int q_last = std::min(static_cast<int>(std::floor(q + tube.q_half)), limits.last_row);
  for (int row = q_first; row <= q_last; row += tile_rows) {
    const auto b_first = static_cast<float>(row - q);
    int p_first = box_first, p_last = box_last;
    if (p_last - p_first >= tile_columns) {  // more than a tile: look at the rows' own extent
      const auto reach = tube.columns_of_rows(b_first, b_first + (tile_rows - 1));
      p_first = std::max(p_first, static_cast<int>(std::ceil(p + reach.first)));
      p_last = std::min(p_last, static_cast<int>(std::floor(p + reach.last)));
    }
    for (int column = p_first; column <= p_last; column += tile_columns)
      visit(column, row, static_cast<float>(column - p), b_first);
  }
}

/// The tiles that cover the tube of an event. They are found before any weight is computed: a loop over places and then
/// a loop over weights take less time than one loop over both, since neither waits for the other's branches.
class TubeTiles {
 public:
  int count() const { return count_; }
  /// What is known of a tile's first voxel: its place in the packed image, its columns and rows from the line's
  /// crossing with its slice, and where along the line that crossing lies (mm).
  std::int64_t place(int tile) const { return place_[at(tile)]; }
  float a(int tile) const { return a_[at(tile)]; }
  float b(int tile) const { return b_[at(tile)]; }
  float u(int tile) const { return u_[at(tile)]; }
  /// r^2 of the first voxel (mm^2), and by what it grows for each column and row beside the growth that is the same in
  /// all tiles; where along the line the first voxel lies (mm). After expand().
  float r2(int tile) const { return r2_[at(tile)]; }
  float r2_a(int tile) const { return r2_a_[at(tile)]; }
  float r2_b(int tile) const { return r2_b_[at(tile)]; }
  float u_first(int tile) const { return u_first_[at(tile)]; }
  /// Which of the slices that the tube meets it lies in, from 0 on.
  int slice(int tile) const { return slice_[at(tile)]; }

  /// A voxel's r^2 and place as sums of what its tile and its lane give: fewer operations a tile.
  void expand(const tor::Tube& tube) {
    const FloatTag d;
    const auto pp = splat<FloatLanes>(tube.pp), pq = splat<FloatLanes>(tube.pq), qq = splat<FloatLanes>(tube.qq);
    const auto p_along = splat<FloatLanes>(tube.p_along), q_along = splat<FloatLanes>(tube.q_along);
    for (int tile = 0; tile < count_; tile += lanes) {
      const auto a = hn::LoadU(d, a_.data() + tile), b = hn::LoadU(d, b_.data() + tile);
      const auto u = hn::LoadU(d, u_.data() + tile), pa = pp * a, qb = qq * b;
      hn::StoreU(mul_add(a, mul_add(pq, b, pa), qb * b), d, r2_.data() + tile);
      hn::StoreU(mul_add(pq, b, pa + pa), d, r2_a_.data() + tile);
      hn::StoreU(mul_add(pq, a, qb + qb), d, r2_b_.data() + tile);
      hn::StoreU(mul_add(p_along, a, mul_add(q_along, b, u)), d, u_first_.data() + tile);
    }
  }

  void cover(const tor::Tube& tube, const tor::SliceLayout::Slices& slices) {
    if (static_cast<int>(2 * tube.p_half) < tile_columns && static_cast<int>(2 * tube.q_half) < window_rows)
      return cover_by_windows(tube, slices);
    const auto most = [](float half, int edge) { return static_cast<int>(2 * half) / edge + 2; };
    begin((tube.last - tube.first + 1) * most(tube.p_half, tile_columns) * most(tube.q_half, tile_rows));
    const SliceLimits limits{0, slices.columns - 1, 0, slices.rows - 1};
    for (int k = tube.first; k <= tube.last; ++k) {
      const double p = tube.p0 + k * tube.p_step, q = tube.q0 + k * tube.q_step;
      const auto u = static_cast<float>(tube.u0 + k * tube.u_step);
      const std::int64_t slice = slices.base + k * slices.slice_stride;
      for_each_tile_of_section(tube, p, q, limits, [&](int column, int row, float a, float b) {
        const std::size_t tile = at(count_++);
        place_[tile] = slice + row * slices.row_stride + column;
        a_[tile] = a;
        b_[tile] = b;
        u_[tile] = u;
        slice_[tile] = k - tube.first;
      });
    }
  }

 private:
  static constexpr int window_rows = 4;
  static_assert(window_rows - 1 <= tor::SliceLayout::padding);
  using DoubleTag = hn::CappedTag<double, (lanes > 1 ? lanes / 2 : 1)>;

  static std::size_t at(int tile) { return static_cast<std::size_t>(tile); }

  /// Makes room for so many tiles and a vector's lanes beyond them.
  void begin(int tiles) {
    count_ = 0;
    const std::size_t size = at(std::max(tiles, 0) + lanes);
    if (place_.size() >= size) return;
    place_.resize(size);
    slice_.resize(size);
    for (std::vector<float>* numbers : {&a_, &b_, &u_, &r2_, &r2_a_, &r2_b_, &u_first_}) numbers->resize(size);
  }

  /// Where sections by all slices fit a window of tile_columns by window_rows voxels: a window each, several slices at
  /// a time.
  void cover_by_windows(const tor::Tube& tube, const tor::SliceLayout::Slices& slices) {
    const int slices_met = std::max(tube.last - tube.first + 1, 0);
    const int tiles_a_window = static_cast<int>(2 * tube.q_half) / tile_rows + 1;
    begin(slices_met * tiles_a_window);
    count_ = slices_met * tiles_a_window;
    const DoubleTag d;
    const hn::Rebind<float, DoubleTag> single;
    const hn::Rebind<std::int64_t, DoubleTag> whole;
    const auto number = [&](double value) HWY_ATTR { return hn::Set(d, value); };
    const auto low_edge = [&](auto middle, float half, int voxels) HWY_ATTR {
      const auto first = hn::Ceil(middle - number(static_cast<double>(half)));
      return hn::Min(hn::Max(first, number(0)), number(voxels - 1));
    };
    for (int slice = 0; slice < slices_met; slice += static_cast<int>(hn::Lanes(d))) {
      const auto k = hn::Iota(d, tube.first + slice);
      const auto p = hn::MulAdd(k, number(tube.p_step), number(tube.p0));
      const auto q = hn::MulAdd(k, number(tube.q_step), number(tube.q0));
      const auto u = hn::MulAdd(k, number(tube.u_step), number(tube.u0));
      const auto column = low_edge(p, tube.p_half, slices.columns), row = low_edge(q, tube.q_half, slices.rows);
      const auto in_slice = hn::MulAdd(row, number(static_cast<double>(slices.row_stride)), column);
      const auto place = hn::MulAdd(k, number(static_cast<double>(slices.slice_stride)),
                                    in_slice + number(static_cast<double>(slices.base)));
      hn::StoreU(hn::ConvertTo(whole, place), whole, place_.data() + slice);
      hn::StoreU(hn::DemoteTo(single, column - p), single, a_.data() + slice);
      hn::StoreU(hn::DemoteTo(single, row - q), single, b_.data() + slice);
      hn::StoreU(hn::DemoteTo(single, u), single, u_.data() + slice);
    }
    std::iota(slice_.begin(), slice_.begin() + slices_met, 0);
    for (int tile = slices_met; tile < count_; ++tile) {  // below the one of the same slice
      const std::size_t above = at(tile - slices_met), below = at(tile);
      place_[below] = place_[above] + tile_rows * slices.row_stride;
      a_[below] = a_[above];
      b_[below] = b_[above] + tile_rows;
      u_[below] = u_[above];
      slice_[below] = slice_[above];
    }
  }

  int count_ = 0;
  std::vector<std::int64_t> place_;
  std::vector<int> slice_;
  std::vector<float> a_, b_, u_, r2_, r2_a_, r2_b_, u_first_;
};

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_TUBE_TILES_INL
// SPDX-License-Identifier: Apache-2.0
