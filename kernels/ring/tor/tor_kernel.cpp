// TOR projection on the CPU (Cui et al. 2011, II.B): per event the tiles that cover its tube (tube_tiles-inl.hpp), then
// their weights, which forward and back projection share.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ring/tor/tor_kernel.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include "kernels/project/cpu_kernel-inl.hpp"
#include "kernels/ring/tor/tube_tiles-inl.hpp"
#include "kernels/ring/tor/weight-inl.hpp"
// clang-format on
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/ring/tor/section_sum.hpp"
#include "kernels/ring/tor/tor_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace tofstream::HWY_NAMESPACE {

using tor::CpuLattice;
using tor::CpuSetup;
using tor::SliceLayout;

/// The ToF response over a tile (tof_profile.hpp): a bell up to the step for bins that count whole, a piece where one
/// is good all over the tile for others, else the integral itself for each voxel. Bells and pieces are for one width of
/// bin: there are none where each event has its own.
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
    tof.narrow_ = response.takes_whole_bins();
    if (tof.narrow_) {
      tof.bell_ = tor::TofBell::make(response);
      return tof;
    }
    tof.pieces_ =
        setup.tof_pieces->pieces(pass.events.tof.sigma_mm, pass.events.bin_width_mm(0), pass.model.tof_cut_sigma, tile);
    tof.view_ = tof.pieces_->view(tof.pieces_->pieces().data());
    return tof;
  }

  bool is_bell() const { return narrow_; }
  bool is_pieces() const { return pieces_ != nullptr; }
  /// What the weights below lack.
  float unit() const { return narrow_ ? bell_.unit : (pieces_ ? pieces_->unit() : 1.0f); }

  /// Whether a bell does for a tile whose middle lies at u_middle.
  bool holds_bell(float u_middle) const { return std::abs(u_middle) + half_mm_ <= bell_.whole_mm; }
  const tor::TofBell& bell() const { return bell_; }
  /// The weights of a tile whose middle lies at u_middle, by a piece where one is good.
  template <class Weight>
  HWY_INLINE FloatLanes by_piece(const Weight& weight, FloatLanes r2, FloatLanes u, float u_middle) const {
    const float sign = u_middle < 0 ? -1.0f : 1.0f;
    const auto place = view_.nearest(sign * u_middle);
    if (!pieces_->is_good(place.piece)) return exact(weight, r2, u);
    const tor::TofPiece& piece = view_.pieces[place.piece];
    return weight.by_piece(r2, u, piece, place.mm, sign, piece.ramp(view_.corner, view_.end));
  }
  template <class Weight>
  HWY_INLINE FloatLanes exact(const Weight& weight, FloatLanes r2, FloatLanes u) const {
    return weight.at(r2, u) * splat<FloatLanes>(1 / unit());
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
        tof_(TileTof::make(setup, pass_)) {}

  void trace(std::int64_t i) {
    const tor::Tube tube = pass_.tube(i);
    SliceLayout::Slices slices = lattice_.layout.slices(tube.axes.slice);
    slices.base += lattice_.offset;
    row_stride_ = slices.row_stride;
    const float bin_width_mm = pass_.events.bin_width_mm(i);
    scale_ = pass_.scale(i, tube) * tof_.unit();
    const Weight weight(pass_, tube, bin_width_mm, setup_.table.data());
    tiles_.cover(tube, slices);
    tiles_.expand(tube);
    weigh_tiles(weight, tube);
    if ((tof_.is_bell() || tof_.is_pieces()) && line_ends_within_tof(tube, bin_width_mm)) cut_at_ends(weight);
    if (pass_.model.by_slice) normalise_slices(weight, tube, slices);
  }

  float gather(const float* image) {
    FloatLanes sum = splat<FloatLanes>(0.0f);
    for (int tile = 0; tile < tiles_.count(); ++tile)
      sum = mul_add(hn::Load(d_, weights_of(tile)), load_tile(d_, image + tiles_.place(tile), row_stride_), sum);
    return scale_ * sum_of_lanes(sum);
  }

  void scatter(float value, float* image) {
    const FloatLanes factor = splat<FloatLanes>(scale_ * value);
    for (int tile = 0; tile < tiles_.count(); ++tile)
      add_tile(d_, factor * hn::Load(d_, weights_of(tile)), image + tiles_.place(tile), row_stride_);
  }

 private:
  using Weight = TubeWeight<FloatLanes, gaussian>;

  float* weights_of(int tile) { return weights_.data() + std::int64_t{tile} * lanes; }

  void weigh_tiles(const Weight& weight, const tor::Tube& tube) {
    if (const std::int64_t needed = std::int64_t{tiles_.count()} * lanes; weights_.size() < needed)
      weights_ = Buffer<float>(Memory::host, 2 * needed);
    const float to_middle = 0.5f * (tube.p_along * (tile_columns - 1) + tube.q_along * (tile_rows - 1));
    const auto u_middle = [&](int tile) HWY_ATTR { return tiles_.u_first(tile) + to_middle; };
    if (tof_.is_bell()) {
      const tor::TofBell bell = tof_.bell();
      weigh(weight, 0, tiles_.count(),
            [bell](const Weight& w, FloatLanes r2, FloatLanes u, int) HWY_ATTR { return w.by_bell(r2, u, bell); });
      for (int tile = 0; tile < tiles_.count(); ++tile)
        if (!tof_.holds_bell(u_middle(tile))) weigh_exactly(weight, tile, tile + 1);
    } else if (tof_.is_pieces()) {
      weigh(weight, 0, tiles_.count(), [&](const Weight& w, FloatLanes r2, FloatLanes u, int tile) HWY_ATTR {
        return tof_.by_piece(w, r2, u, u_middle(tile));
      });
    } else {
      weigh_exactly(weight, 0, tiles_.count());
    }
  }
  void weigh_exactly(const Weight& weight, int first, int last) {
    weigh(weight, first, last,
          [&](const Weight& w, FloatLanes r2, FloatLanes u, int) HWY_ATTR { return tof_.exact(w, r2, u); });
  }

  /// The weights of tiles [first, last) by weight_at(the weight, r^2, u, tile). The weight is a copy, so that what is
  /// stored cannot change it: it stays in registers.
  template <class WeightAt>
  HWY_INLINE void weigh(const Weight weight, int first, int last, WeightAt&& weight_at) {
    for_each_tile(weight, first, last, [&](FloatLanes r2, FloatLanes u, int tile) HWY_ATTR {
      hn::Store(weight_at(weight, r2, u, tile), d_, weights_of(tile));
    });
  }
  void cut_at_ends(const Weight& weight) {
    for_each_tile(weight, 0, tiles_.count(), [&](FloatLanes, FloatLanes u, int tile) HWY_ATTR {
      hn::Store(weight.between_ends(hn::Load(d_, weights_of(tile)), u), d_, weights_of(tile));
    });
  }
  /// Normalise::slice.
  void normalise_slices(const Weight& weight, const tor::Tube& tube, const SliceLayout::Slices& slices) {
    slice_factors_.assign(static_cast<std::size_t>(std::max(tube.last - tube.first + 1, 0)), 0.0f);
    const auto of_slice = [&](int slice) -> float& { return slice_factors_[static_cast<std::size_t>(slice)]; };
    for_each_tile(weight, 0, tiles_.count(), [&](FloatLanes r2, FloatLanes, int tile) HWY_ATTR {
      of_slice(tiles_.slice(tile)) += sum_of_lanes(weight.radial(r2, splat<FloatLanes>(0.0f)));
    });
    for (int k = tube.first; k <= tube.last; ++k) {
      float& sum = of_slice(k - tube.first);
      const double p = tube.p0 + k * tube.p_step, q = tube.q0 + k * tube.q_step;
      if (p < tube.p_half || p + tube.p_half > slices.columns - 1 || q < tube.q_half ||
          q + tube.q_half > slices.rows - 1)
        sum = section_sum(weight, tube, p, q);
      sum = tor::slice_factor(sum);
    }
    for (int tile = 0; tile < tiles_.count(); ++tile)
      hn::Store(hn::Load(d_, weights_of(tile)) * splat<FloatLanes>(of_slice(tiles_.slice(tile))), d_, weights_of(tile));
  }
  /// The sum of the response over a section that lies partly beside the image.
  static float section_sum(const Weight& weight, const tor::Tube& tube, double p, double q) {
    constexpr int far = std::numeric_limits<int>::max() / 2;
    FloatLanes sum = splat<FloatLanes>(0.0f);
    for_each_tile_of_section(tube, p, q, {-far, far, -far, far}, [&](int, int, float a_first, float b_first) HWY_ATTR {
      const FloatLanes a = lane_column() + splat<FloatLanes>(a_first), b = lane_row() + splat<FloatLanes>(b_first);
      sum = sum + weight.radial(weight.distance2(a, b), splat<FloatLanes>(0.0f));
    });
    return sum_of_lanes(sum);
  }
  /// Calls visit(r^2, u, tile) for tiles [first, last).
  template <class Visit>
  HWY_INLINE void for_each_tile(const Weight& weight, int first, int last, Visit&& visit) const {
    const FloatLanes column = lane_column(), row = lane_row();
    const FloatLanes r2_of_lane = weight.distance2(column, row);
    const FloatLanes u_of_lane = weight.along(column, row, splat<FloatLanes>(0.0f));
    for (int tile = first; tile < last; ++tile) {
      FloatLanes r2;
      if constexpr (gaussian) {
        r2 = mul_add(
            column, splat<FloatLanes>(tiles_.r2_a(tile)),
            mul_add(row, splat<FloatLanes>(tiles_.r2_b(tile)), r2_of_lane + splat<FloatLanes>(tiles_.r2(tile))));
      } else {  // a root of r^2 may be asked for, which has no digits to lose near 0
        r2 = weight.distance2(column + splat<FloatLanes>(tiles_.a(tile)), row + splat<FloatLanes>(tiles_.b(tile)));
      }
      visit(r2, u_of_lane + splat<FloatLanes>(tiles_.u_first(tile)), tile);
    }
  }

  /// Whether a voxel may lie within ToF's reach and behind an end of the line.
  bool line_ends_within_tof(const tor::Tube& tube, float bin_width_mm) const {
    const auto reach = static_cast<float>(pass_.tof.reach_mm(bin_width_mm));
    return tube.u_low > -reach || tube.u_high < reach;
  }

  const FloatTag d_;
  const CpuSetup& setup_;
  const CpuLattice& lattice_;
  tor::Pass pass_;
  TileTof tof_;
  TubeTiles tiles_;  // of the event at hand
  Buffer<float> weights_;
  std::vector<float> slice_factors_;
  std::int64_t row_stride_ = 0;
  float scale_ = 0;
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
  const Grid& grid = setup.lattices.front().model.grid;
  if (setup.lattices.size() == 2) return std::make_unique<TracingKernel<BlobTracer, CpuSetup>>(setup, grid);
  if (setup.lattices.front().model.gaussian)
    return std::make_unique<TracingKernel<TubeTracer<true>, CpuSetup>>(setup, grid);
  return std::make_unique<TracingKernel<TubeTracer<false>, CpuSetup>>(setup, grid);
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
// SPDX-License-Identifier: Apache-2.0
