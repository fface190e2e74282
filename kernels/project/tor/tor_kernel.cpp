// TOR projection on the CPU (paper 000, II.B): per event the slices across the predominant
// direction, per slice tiles of 4 columns by (lanes / 4) rows that cover the tube's ellipse, a
// voxel a lane. A tile's rows are contiguous, so it is loaded and stored without gather or scatter.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/project/tor/tor_kernel.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include "kernels/project/cpu_kernel-inl.hpp"
#include "kernels/project/tor/weight-inl.hpp"
// clang-format on
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/project/tor/section_sum.hpp"
#include "kernels/project/tor/tor_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace tofstream::HWY_NAMESPACE {

using tor::CpuLattice;
using tor::CpuSetup;
using tor::SliceLayout;

constexpr int lanes = static_cast<int>(hn::MaxLanes(FloatTag()));
constexpr int tile_columns = std::min(lanes, 4);
constexpr int tile_rows = lanes / tile_columns;
static_assert(std::max(tile_rows, tile_columns) - 1 <= SliceLayout::padding);

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

/// The ToF response over a tile (tof_profile.hpp): a bell up to the ramp for narrow bins, a piece where one is good all
/// over the tile for others, else the integral itself for each voxel. Bells and pieces are of one width: events that
/// have a width each have none.
class TileTof {
 public:
  static TileTof make(const CpuSetup& setup, const tor::Pass& pass) {
    TileTof tof;
    if (!pass.tof.present() || pass.events.tof_width_mm) return tof;
    const Vec3 voxel = pass.model.grid.voxel_mm;
    // Half a tile along any line, or the tube's section where that is less.
    const double tile = 0.5 * std::sqrt(2.0 / 3) *
                        std::hypot((tile_columns - 1) * std::max({voxel.x, voxel.y, voxel.z}),
                                   (tile_rows - 1) * std::max({voxel.x, voxel.y, voxel.z}));
    tof.half_mm_ = static_cast<float>(tile);
    const tor::TofResponse response(pass.events.tof.sigma_mm, pass.events.bin_width_mm(0), pass.model.tof_cut_sigma);
    tof.narrow_ = response.half_width_mm() <= 0.05 * response.sigma_mm();
    if (tof.narrow_) {
      tof.bell_ = tor::TofBell::make(response);
      return tof;
    }
    tof.pieces_ =
        setup.tof_pieces->pieces(pass.events.tof.sigma_mm, pass.events.bin_width_mm(0), pass.model.tof_cut_sigma, tile);
    tof.view_ = tof.pieces_->view(tof.pieces_->pieces().data());
    return tof;
  }

  bool present() const { return narrow_ || pieces_ != nullptr; }
  float unit() const { return narrow_ ? bell_.unit : (pieces_ ? pieces_->unit() : 1.0f); }
  /// What `weight` gives for a tile whose middle lies at u_middle.
  template <class Weight>
  HWY_INLINE FloatLanes weigh(const Weight& weight, FloatLanes a, FloatLanes b, FloatLanes u, float u_middle) const {
    if (narrow_) {
      if (std::abs(u_middle) + half_mm_ <= bell_.whole_mm) return weight.by_bell(a, b, u, bell_);
      return weight(a, b, u) * splat<FloatLanes>(1 / bell_.unit);
    }
    const float sign = u_middle < 0 ? -1.0f : 1.0f;
    const auto place = view_.nearest(sign * u_middle);
    if (!pieces_->is_good(place.piece)) return weight(a, b, u) * splat<FloatLanes>(1 / pieces_->unit());
    const tor::TofPiece& piece = view_.pieces[place.piece];
    return weight.by_piece(a, b, u, piece, place.mm, sign, piece.ramp(view_.corner, view_.end));
  }

 private:
  bool narrow_ = false;
  float half_mm_ = 0;  // half a tile along any line
  tor::TofBell bell_;
  std::shared_ptr<const tor::TofPieces> pieces_;
  tor::TofPieceView view_;
};

/// One thread's view of the events on one lattice: the tiles of the event at hand and their weights.
template <bool gaussian>
class TubeTracer {
 public:
  TubeTracer(const CpuSetup& setup, const EventView& events, std::size_t lattice = 0)
      : setup_(setup),
        lattice_(setup.lattices[lattice]),
        pass_(tor::make_pass(lattice_.model, events)),
        tof_(TileTof::make(setup, pass_)),
        kept_weights_(Memory::host, static_cast<std::int64_t>(capacity * hn::Lanes(d_))),
        kept_tiles_(capacity) {}

  void trace(std::int64_t i) {
    tube_ = pass_.tube(i);
    slices_ = lattice_.layout.slices(tube_.axes.slice);
    slices_.base += lattice_.offset;
    bin_width_mm_ = pass_.events.bin_width_mm(i);
    scale_ = pass_.scale(i, tube_) * tof_.unit();
    tiles_ = not_gathered;
  }

  float gather(const float* image) {
    FloatLanes sum = splat<FloatLanes>(0.0f);
    std::size_t count = 0;
    float* const weights = kept_weights_.data();
    std::int64_t* const tiles = kept_tiles_.data();
    for_each_tile([&](std::int64_t tile, std::int64_t row_stride, FloatLanes weight) HWY_ATTR {
      sum = mul_add(weight, load_tile(d_, image + tile, row_stride), sum);
      if (count < capacity) {
        tiles[count] = tile;
        hn::Store(weight, d_, weights + count * hn::Lanes(d_));
      }
      ++count;
    });
    tiles_ = count;
    return scale_ * sum_of_lanes(sum);
  }

  void scatter(float value, float* image) {
    const FloatLanes factor = splat<FloatLanes>(scale_ * value);
    if (tiles_ > capacity) {
      for_each_tile([&](std::int64_t tile, std::int64_t row_stride, FloatLanes weight)
                        HWY_ATTR { add_tile(d_, factor * weight, image + tile, row_stride); });
      return;
    }
    const std::int64_t row_stride = slices_.row_stride;
    for (std::size_t t = 0; t < tiles_; ++t)
      add_tile(d_, factor * hn::Load(d_, kept_weights_.data() + t * hn::Lanes(d_)), image + kept_tiles_[t], row_stride);
  }

 private:
  // Weights are kept from gather to scatter, which is faster than to compute them again; a tube of
  // more tiles than this computes them again.
  static constexpr std::size_t capacity = 4096;
  static constexpr std::size_t not_gathered = capacity + 1;

  /// Calls visit(place of the tile's first voxel, its row stride, weights) for the tiles that cover the tube.
  template <class Visit>
  HWY_INLINE void for_each_tile(Visit&& visit) const {
    if (tube_.empty()) return;
    // Copies, so that what `visit` writes cannot change them: they stay in registers.
    const tor::Tube tube = tube_;
    const SliceLayout::Slices slices = slices_;
    const TubeWeight<FloatLanes, gaussian> weight(pass_, tube, bin_width_mm_, setup_.table.data());
    const bool pieces = tof_.present(), ends = !pieces || line_ends_within_tof(tube);
    const float to_middle = 0.5f * (tube.p_along * (tile_columns - 1) + tube.q_along * (tile_rows - 1));
    const Limits in_image{0, slices.columns - 1, 0, slices.rows - 1};
    const bool by_slice = pass_.model.by_slice;
    for (int k = tube.first; k <= tube.last; ++k) {
      const double p = tube.p0 + k * tube.p_step, q = tube.q0 + k * tube.q_step;
      const auto u_crossing = static_cast<float>(tube.u0 + k * tube.u_step);
      const FloatLanes u = splat<FloatLanes>(u_crossing);
      const std::int64_t place = slices.base + k * slices.slice_stride;
      const FloatLanes of_slice = by_slice ? slice_factor(weight, tube, p, q) : splat<FloatLanes>(1.0f);
      for_each_tile_of_section(tube, p, q, in_image, [&](int column, int row, float a_first, float b_first) HWY_ATTR {
        const FloatLanes a = lane_column() + splat<FloatLanes>(a_first), b = lane_row() + splat<FloatLanes>(b_first);
        FloatLanes weights;
        if (pieces) {
          const float u_middle = u_crossing + tube.p_along * a_first + tube.q_along * b_first + to_middle;
          weights = tof_.weigh(weight, a, b, u, u_middle);
          if (ends) weights = weight.between_ends(weights, weight.along(a, b, u));
        } else {
          weights = weight(a, b, u);
        }
        if (by_slice) weights = weights * of_slice;
        visit(place + row * slices.row_stride + column, slices.row_stride, weights);
      });
    }
  }

  /// Between which columns and rows of a slice to look.
  struct Limits {
    int first_column, last_column, first_row, last_row;
  };
  /// Calls visit(its first column, its first row, how far these lie from the crossing) for the tiles that cover the
  /// tube's section by a slice, which the line crosses at column p and row q.
  template <class Visit>
  HWY_INLINE static void for_each_tile_of_section(const tor::Tube& tube, double p, double q, const Limits& limits,
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

  /// What Normalise::slice makes of the weights of a slice.
  HWY_INLINE static FloatLanes slice_factor(const TubeWeight<FloatLanes, gaussian>& weight, const tor::Tube& tube,
                                            double p, double q) {
    constexpr int far = std::numeric_limits<int>::max() / 2;
    FloatLanes sum = splat<FloatLanes>(0.0f);
    for_each_tile_of_section(tube, p, q, {-far, far, -far, far}, [&](int, int, float a_first, float b_first) HWY_ATTR {
      const FloatLanes a = lane_column() + splat<FloatLanes>(a_first), b = lane_row() + splat<FloatLanes>(b_first);
      sum = sum + weight.radial(a, b, splat<FloatLanes>(0.0f));
    });
    return splat<FloatLanes>(tor::slice_factor(sum_of_lanes(sum)));
  }

  /// A lane's place in its tile.
  HWY_INLINE static FloatLanes lane_row() {
    return round_down(lane_index<FloatLanes>() * splat<FloatLanes>(1.0f / tile_columns));
  }
  HWY_INLINE static FloatLanes lane_column() {
    return lane_index<FloatLanes>() - lane_row() * splat<FloatLanes>(tile_columns);
  }

  /// Whether a voxel may lie within ToF's reach and behind an end of the line.
  bool line_ends_within_tof(const tor::Tube& tube) const {
    const auto reach = static_cast<float>(pass_.tof.cut_mm + 0.5 * static_cast<double>(bin_width_mm_));
    return tube.u_low > -reach || tube.u_high < reach;
  }

  const FloatTag d_;
  const CpuSetup& setup_;
  const CpuLattice& lattice_;
  tor::Pass pass_;
  TileTof tof_;
  tor::Tube tube_;
  SliceLayout::Slices slices_{};
  float scale_ = 0, bin_width_mm_ = 1;
  std::size_t tiles_ = not_gathered;  // of the event at hand
  Buffer<float> kept_weights_;
  std::vector<std::int64_t> kept_tiles_;
};

/// Both lattices of an image of blobs: what an event expects of them adds up.
class BlobTracer {
 public:
  BlobTracer(const CpuSetup& setup, const EventView& events) : even_(setup, events, 0), odd_(setup, events, 1) {}
  void trace(std::int64_t i) {
    even_.trace(i);
    odd_.trace(i);
  }
  float gather(const float* image) { return even_.gather(image) + odd_.gather(image); }
  void scatter(float value, float* image) {
    even_.scatter(value, image);
    odd_.scatter(value, image);
  }

 private:
  TubeTracer<false> even_, odd_;
};

std::unique_ptr<const CpuKernel> MakeTorKernel(const CpuSetup& setup) {
  if (setup.lattices.size() == 2) return std::make_unique<TracingKernel<BlobTracer, CpuSetup>>(setup);
  if (setup.lattices.front().model.gaussian) return std::make_unique<TracingKernel<TubeTracer<true>, CpuSetup>>(setup);
  return std::make_unique<TracingKernel<TubeTracer<false>, CpuSetup>>(setup);
}

}  // namespace tofstream::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tofstream {

HWY_EXPORT(MakeTorKernel);

std::unique_ptr<const CpuKernel> tor::make_kernel(const CpuSetup& setup) {
  return HWY_DYNAMIC_DISPATCH(MakeTorKernel)(setup);
}

}  // namespace tofstream

#endif
