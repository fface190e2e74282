// The kernels that project a plan of visits: forward with tiles of the image in shared memory, and back with tiles of
// sums in shared memory. Their passes are in workspace.cuh. Sums are fixed-point numbers: integer atomics in shared
// memory run at several times the rate of floating-point ones, and their result does not depend on the order.
//
// A projector brings a Footprint:
//   static constexpr int threads;           of a block, one of which fills a multiprocessor
//   static constexpr bool short_visits;     whether a visit takes no longer than fetching the next one
//   float unit() const;                     what all weights below lack, for the host
//   float largest_weight() const;           a bound of the weights, without the unit, for the host
//   float forward(const float* tile, const AxisTiles&, const Visit&) const;
//   void back(const AxisTiles&, const Visit&, float value, Add add) const;
//                                           calls add(word, weight * value * add.factor()), or add.add_where
// All lanes of a warp call forward together; the lanes of add.together call back together.
#pragma once

#include "kernels/math/fixed_point.hpp"
#include "kernels/project/device_tally.cuh"
#include "kernels/project/tiled/tile_memory.cuh"
#include "kernels/project/tiled/tile_of_visit.cuh"
#include "kernels/project/tiled/tile_scales.hpp"
#include "kernels/project/tiled/visit_bins.hpp"

namespace tofstream::tiled {

/// 2^x to 2 units in the last place, without denormal results.
__device__ inline float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// What the blocks of a pass share: the next item of each of its two kernels, and the tally. Kernels leave it as those
/// that follow need it: forward_tiles clears the tally, the kernel that follows it next_forward, and the kernel that
/// chooses scales the counters of a back projection. Clearing it between kernels would take as long as some of the
/// kernels.
struct PassState {
  std::uint32_t next_forward;
  BackState back;
  DeviceTally tally;
};

/// Where a back projection goes: the image itself by floating-point additions, or sums of whole numbers of 2^-shift
/// that do not depend on the order, which are added to the image in the end.
struct BackTarget {
  float* image;
  long long* sums;  // null: the image itself

  __device__ BackTarget of_tile(const Tiling& tiling, std::uint32_t tile) const {
    const std::int64_t first = tiling.first_voxel(tile);
    return {image + first, sums ? sums + first : nullptr};
  }
  __device__ void add(std::int64_t voxel, float value) const { atomicAdd(image + voxel, value); }
  __device__ void add_to_sum(std::int64_t voxel, long long value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(sums + voxel), static_cast<unsigned long long>(value));
  }
  /// The shift for sums of tiles: as the finest tile has it, where the coarsest leaves room for it.
  __device__ static int common_shift(const ScaleRange& range) {
    constexpr int room = 26;  // of 63 bits, for 30 of a tile's sum and a few for the items that add to a voxel
    return min(range.highest_shift, range.lowest_shift + room);
  }
  /// The shift for a band of the ratios that are too large: a sum has room for a million of the largest.
  TOFSTREAM_HOST_DEVICE static int outlier_shift(int band) {
    return 40 - ((band + 1) * exponents_a_band - exponent_bias);
  }
};

/// Weights as they are.
struct Unscaled {
  static constexpr int factor_log2 = 0;
  __device__ static constexpr float factor() { return 1; }
};

namespace detail {

/// The next group of visits of the item at hand.
__shared__ std::uint32_t next_group;

/// Hands out items until none is left, to all threads of the block alike. Waits for the whole block.
__device__ inline bool next_item(const VisitView& plan, std::uint32_t* counter, Item& item) {
  __shared__ std::uint32_t taken;
  __syncthreads();
  if (threadIdx.x == 0) {
    taken = atomicAdd(counter, 1u);
    next_group = blockDim.x / 32;
  }
  __syncthreads();
  if (taken >= *plan.item_count) return false;
  item = plan.items[taken];
  return true;
}

__device__ inline const AxisTiles& axis_of(const Tiling& tiling, std::uint32_t tile) {
  const int t = tiling.in_image(tile);
  return tiling.axes[t < tiling.axes[1].first_tile ? 0 : (t < tiling.axes[2].first_tile ? 1 : 2)];
}

/// The visits of an item that a thread takes, group after group of 32, the longest first. Groups of short visits go
/// round the warps. A warp with long visits takes the next group when it has finished one, so that all warps end
/// together: it asks a turn ahead and never waits for the answer. A warp's lanes stay together: a lane past the end has
/// none.
template <bool round>
struct Turns {
  std::uint32_t next, end, begin, step, coming_group;

  __device__ Turns(const VisitView& plan, const Item& item) : end(plan.tile_begin[item.tile + 1]) {
    begin = plan.tile_begin[item.tile] + item.part * 32 + threadIdx.x % 32;
    step = item.parts * 32;
    next = begin + threadIdx.x / 32 * step;
    if constexpr (round) {
      step *= blockDim.x / 32;
    } else {
      ask();
    }
  }
  __device__ void advance() {
    if constexpr (round) {
      next += step;
    } else {
      next = begin + __shfl_sync(0xffffffffu, coming_group, 0) * step;
      ask();
    }
  }
  __device__ bool present() const { return next < end; }
  __device__ bool warp_present() const { return next - threadIdx.x % 32 < end; }

 private:
  __device__ void ask() {
    if (threadIdx.x % 32 == 0) coming_group = atomicAdd(&next_group, 1u);
  }
};

/// The visit whose turn it is; one without planes where there is none.
template <bool round>
__device__ Visit read(const Visit* visits, const Turns<round>& turns) {
  if (!turns.present()) return {};
  const float4 line = __ldg(reinterpret_cast<const float4*>(visits + turns.next));
  const uint4 rest = __ldg(reinterpret_cast<const uint4*>(visits + turns.next) + 1);
  return {line.x, line.y, line.z, line.w, __uint_as_float(rest.x), __uint_as_float(rest.y), rest.z, rest.w};
}

/// A thread's visits, one after the other. `short_ones`: the next visit is loaded while one is projected.
template <bool short_ones>
class VisitReader {
 public:
  __device__ VisitReader(const Visit* visits, const Turns<short_ones>& turns) : visits_(visits) {
    if constexpr (short_ones) coming_ = read(visits_, turns);
  }
  /// The visit whose turn it is; then it is the next one's.
  __device__ Visit take(Turns<short_ones>& turns) {
    Visit visit;
    if constexpr (short_ones) {
      visit = coming_;
    } else {
      visit = read(visits_, turns);
    }
    turns.advance();
    if constexpr (short_ones) coming_ = read(visits_, turns);
    return visit;
  }

 private:
  const Visit* visits_;
  Visit coming_;
};

/// Adds to the tile's sums in shared memory, which begin at an address of that memory. Products are scaled to be denormal
/// floats, whose bits are whole numbers (denormal_log2): values come with 2^value_log2, and what a footprint multiplies
/// them by has to have factor() too. Values are magnitudes, since a float's sign is not a whole number's: `signs` says
/// whether they have one, which costs a multiplication an addition.
template <bool signs>
struct FixedPoint {
  std::uint32_t address;
  int sign = 1;
  static constexpr unsigned together = 0xffffffffu;
  static constexpr int factor_log2 = -110, value_log2 = denormal_log2 - factor_log2;

  __device__ static constexpr float factor() { return 0x1p-110f; }
  __device__ void operator()(std::uint32_t word, float value) const {
    int units = __float_as_int(value);
    if constexpr (signs) units *= sign;
    asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(address + 4 * word), "r"(units) : "memory");
  }
  /// Where `what` <= `limit`, else 0: around a predicated atomic the compiler parts the lanes of a warp and joins them
  /// again, which costs more than the addition.
  __device__ void add_where(float what, float limit, std::uint32_t word, float value) const {
    (*this)(word, what <= limit ? value : 0.0f);
  }
};

/// Adds to the image itself, or to its sums.
class OneByOne : public Unscaled {
 public:
  unsigned together;

  /// `scale`: of the sums.
  __device__ OneByOne(const TileBox& box, const AxisTiles& axis, const BackTarget& target, double scale)
      : together(1u << threadIdx.x % 32),
        target_(target),
        scale_(scale),
        plane_stride_(axis.plane_stride),
        row_stride_(axis.row_stride),
        per_plane_(1 / static_cast<float>(axis.plane_stride)),
        per_row_(1 / static_cast<float>(axis.row_stride)),
        planes_(along(box, axis.axis)),
        columns_(along(box, axis.u_axis)),
        rows_(along(box, axis.v_axis)) {}

  __device__ void operator()(std::uint32_t word, float value) const {
    // Products with a reciprocal are exact enough: half a word from the next whole number, of fewer than 2^17 words.
    const auto at = static_cast<int>(word);
    const auto plane = static_cast<int>((static_cast<float>(at) + 0.5f) * per_plane_);
    const int in_plane = at - plane * plane_stride_;
    const auto row = static_cast<int>((static_cast<float>(in_plane) + 0.5f) * per_row_);
    const int column = in_plane - row * row_stride_;
    if (!planes_.has(plane) || !columns_.has(column) || !rows_.has(row)) return;
    const std::int64_t voxel = planes_.voxel(plane) + columns_.voxel(column) + rows_.voxel(row);
    if (target_.sums && isfinite(value)) {  // others come out the same in any order
      target_.add_to_sum(voxel, __double2ll_rn(static_cast<double>(value) * scale_));
    } else {
      target_.add(voxel, value);
    }
  }
  __device__ void add_where(float what, float limit, std::uint32_t word, float value) const {
    if (what <= limit) (*this)(word, value);
  }

 private:
  /// The image along one of its axes, as a tile sees it.
  struct Along {
    int begin;
    unsigned size;
    std::int64_t stride;
    __device__ bool has(int local) const { return static_cast<unsigned>(begin + local) < size; }
    __device__ std::int64_t voxel(int local) const { return (begin + local) * stride; }
  };
  __device__ static Along along(const TileBox& box, int m) {
    const auto of_axis = [m](const int(&values)[3]) { return m == 0 ? values[0] : (m == 1 ? values[1] : values[2]); };
    const std::int64_t row = box.size[0];
    return {of_axis(box.begin), static_cast<unsigned>(of_axis(box.size)),
            m == 0 ? 1 : (m == 1 ? row : row * box.size[1])};
  }

  BackTarget target_;
  double scale_;
  int plane_stride_, row_stride_;
  float per_plane_, per_row_;
  Along planes_, columns_, rows_;
};

/// shares[slot] = the visit's part of its event's line integral, without the event's scale; slots[visit] = its slot.
/// `first` of a pass: clears the tally.
template <class Footprint>
__global__ void __launch_bounds__(Footprint::threads, 1)
    forward_tiles(VisitView plan, Footprint footprint, const float* __restrict__ image, float* __restrict__ shares,
                  std::uint32_t* __restrict__ slots, bool first, PassState* state) {
  extern __shared__ float tile[];
  if (first && blockIdx.x == 0 && threadIdx.x == 0) state->tally = {};
  Item item;
  while (next_item(plan, &state->next_forward, item)) {
    const AxisTiles& axis = axis_of(plan.tiling, item.tile);
    TileBox::make(axis, plan.tiling.in_image(item.tile)).begin_load(image + plan.tiling.first_voxel(item.tile), tile);
    Turns<Footprint::short_visits> turns(plan, item);
    VisitReader<Footprint::short_visits> visits(plan.visits, turns);
    TileBox::end_load();
    __syncthreads();
    while (turns.warp_present()) {
      const bool present = turns.present();
      const std::uint32_t place = turns.next;
      const Visit visit = visits.take(turns);
      if (present) slots[place] = visit.slot;
      const float sum = footprint.forward(tile, axis, visit);
      if (present) shares[visit.slot] = sum;
    }
  }
}

/// Adds a tile's sums to the target.
__device__ inline void add_sums(const TileBox& box, const int* sums, int shift, const ScaleRange& range,
                                const BackTarget& target) {
  if (!target.sums) {
    const float unscale = ldexpf(1.0f, -shift);
    box.for_each_sum(sums, [&](std::int64_t voxel, int sum) { target.add(voxel, static_cast<float>(sum) * unscale); });
    return;
  }
  const int up = max(BackTarget::common_shift(range) - shift, -40);  // at which nothing is left
  box.for_each_sum(sums, [&](std::int64_t voxel, int sum) {
    const long long half = up < 0 ? 1ll << (-up - 1) : 0;
    target.add_to_sum(voxel, up < 0 ? (sum + half) >> -up : static_cast<long long>(sum) << up);
  });
}

/// target += each visit's ratio along its path; visits whose ratio is too large are listed instead. `signs`: for ratios
/// of which some are negative.
template <bool signs, class Footprint>
__device__ void add_items(const VisitView& plan, const Footprint& footprint, const float* __restrict__ ratios,
                          const TileScale* scales, const ScaleRange* range, std::uint32_t* outliers,
                          const BackTarget& target, BackState* state) {
  extern __shared__ int sums[];
  auto sums_at = static_cast<std::uint32_t>(__cvta_generic_to_shared(sums));
  asm("" : "+r"(sums_at));  // otherwise it is computed again for every addition
  Item item;
  while (next_item(plan, &state->next_item, item)) {
    const AxisTiles& axis = axis_of(plan.tiling, item.tile);
    const TileBox box = TileBox::make(axis, plan.tiling.in_image(item.tile));
    for (int word = static_cast<int>(threadIdx.x); word < axis.words(); word += Footprint::threads) sums[word] = 0;
    const TileScale tile = scales[item.tile];
    const float scale = ldexpf(1.0f, tile.shift + FixedPoint<signs>::value_log2);
    Turns<Footprint::short_visits> turns(plan, item);
    VisitReader<Footprint::short_visits> visits(plan.visits, turns);
    float coming = turns.present() ? ratios[turns.next] : 0.0f;
    __syncthreads();
    while (turns.warp_present()) {
      const bool fits = fabsf(coming) < tile.too_large;  // false for NaN
      if (!fits) outliers[atomicAdd(&state->outliers, 1u)] = turns.next;
      const Visit visit = visits.take(turns);
      const float ratio = fits ? coming : 0.0f;
      coming = turns.present() ? ratios[turns.next] : 0.0f;
      footprint.back(axis, visit, fabsf(ratio) * scale, FixedPoint<signs>{sums_at, ratio < 0 ? -1 : 1});
    }
    __syncthreads();
    add_sums(box, sums, tile.shift, *range, target.of_tile(plan.tiling, item.tile));
  }
}

/// The same, by all blocks. `pass`: that of ValuesOfEvents, of values of either sign; 0 for RatiosBySlot.
template <class Footprint, bool of_values>
__global__ void __launch_bounds__(Footprint::threads, 1)
    back_tiles(VisitView plan, Footprint footprint, const float* __restrict__ ratios, const TileScale* scales,
               const ScaleRange* range, std::uint32_t* outliers, BackTarget target, BackState* state,
               std::uint32_t pass) {
  if constexpr (of_values) {
    if (state->negative_pass == pass)
      return add_items<true>(plan, footprint, ratios, scales, range, outliers, target, state);
  }
  add_items<false>(plan, footprint, ratios, scales, range, outliers, target, state);
}

inline constexpr int outlier_threads = 256;

/// Exponents that are looked at: those of a band, or all.
inline constexpr int all_bands = -1;

/// A part of a visit's planes.
__device__ inline Visit part_of(Visit visit, int part, int parts) {
  const int begin = visit.count() * part / parts, end = visit.count() * (part + 1) / parts;
  const auto k = static_cast<float>(begin);
  visit.u = fmaf(k, visit.du, visit.u);
  visit.v = fmaf(k, visit.dv, visit.v);
  visit.z = fmaf(k, visit.dz, visit.z);
  visit.planes = static_cast<std::uint32_t>(visit.first() + begin) | static_cast<std::uint32_t>(end - begin) << 16;
  return visit;
}

/// What back_tiles leaves out: the listed visits, those of a band or all, each added by a few lanes.
template <class Footprint>
__global__ void __launch_bounds__(outlier_threads)
    back_outliers(VisitView plan, Footprint footprint, const float* ratios, const std::uint32_t* list,
                  const BackState* state, BackTarget target, int band) {
  constexpr unsigned outlier_lanes = Footprint::short_visits ? 8 : 32;  // that share the planes of one visit
  const double scale = band == all_bands ? 1 : exp2(static_cast<double>(BackTarget::outlier_shift(band)));
  const std::uint64_t lanes = std::uint64_t{state->outliers} * outlier_lanes;
  for (std::uint64_t at = blockIdx.x * outlier_threads + threadIdx.x; at < lanes; at += gridDim.x * outlier_threads) {
    const std::uint32_t i = list[at / outlier_lanes];
    const float ratio = ratios[i];
    const int exponent = static_cast<int>(exponent_of(ratio));
    if (band != all_bands && exponent / exponents_a_band != band) continue;
    const std::uint32_t tile = tile_of_visit(plan, i);
    const AxisTiles& axis = axis_of(plan.tiling, tile);
    const TileBox box = TileBox::make(axis, plan.tiling.in_image(tile));
    const OneByOne add(box, axis, target.of_tile(plan.tiling, tile), scale);
    footprint.back(axis, part_of(plan.visits[i], static_cast<int>(at % outlier_lanes), outlier_lanes), ratio, add);
  }
}

}  // namespace detail

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
