// The EM step over a plan of visits (PHYSICS 2): forward with tiles of the image in shared memory, the ratio of each
// event, and back with tiles of sums in shared memory. Sums are fixed-point numbers: integer atomics in shared memory
// run at several times the rate of floating-point ones, and their result does not depend on the order.
//
// A projector brings a Footprint:
//   static constexpr int threads;           of a block, one of which fills a multiprocessor
//   static constexpr bool fetches_ahead;    whether the next visit is fetched while one is projected
//   float unit() const;                     what all weights below lack, for the host
//   float largest_weight() const;           a bound of the weights, without the unit
//   float forward(const float* tile, const AxisTiles&, const Visit&) const;
//   void back(const AxisTiles&, const Visit&, float value, Add add) const;
//                                           calls add(word, weight * value * add.factor()), or add.add_where
// All lanes of a warp call forward together; the lanes of add.together call back together.
#pragma once

#include "kernels/cuda/check.hpp"
#include "kernels/project/device_tally.cuh"
#include "kernels/project/tiled/tile_memory.cuh"
#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

/// 2^x to 2 units in the last place, without denormal results.
__device__ inline float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// What the blocks of a pass share: the next item of each of its two kernels, and the tally.
struct PassState {
  std::uint32_t next_forward, next_back, any_outlier, unused;
  DeviceTally tally;
};

/// Weights as they are.
struct Unscaled {
  static constexpr int factor_log2 = 0;
  __device__ static constexpr float factor() { return 1; }
};

namespace detail {

/// Hands out items until none is left, to all threads of the block alike. Waits for the whole block.
__device__ inline bool next_item(const VisitView& plan, std::uint32_t* counter, Item& item) {
  __shared__ std::uint32_t taken;
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(counter, 1u);
  __syncthreads();
  if (taken >= *plan.item_count) return false;
  item = plan.items[taken];
  return true;
}

__device__ inline const AxisTiles& axis_of(const Tiling& tiling, std::uint32_t tile) {
  const int t = tiling.in_image(tile);
  return tiling.axes[t < tiling.axes[1].first_tile ? 0 : (t < tiling.axes[2].first_tile ? 1 : 2)];
}

/// The visits that a thread takes of an item: groups of 32 visits go to one warp after the other, so that the warps of
/// all blocks at a tile have visits of like length. A warp's lanes stay together: a lane past the end has none.
struct Turns {
  std::uint32_t next, end, step;

  __device__ Turns(const VisitView& plan, const Item& item) : end(plan.tile_begin[item.tile + 1]) {
    const std::uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32;
    next = plan.tile_begin[item.tile] + (warp * item.parts + item.part) * 32 + threadIdx.x % 32;
    step = warps * item.parts * 32;
  }
  __device__ bool present() const { return next < end; }
  __device__ bool warp_present() const { return next - threadIdx.x % 32 < end; }
};

/// The values of all threads of the block, combined in an order that is always the same; waits for the whole block.
template <class T, class Combine>
__device__ T over_block(T value, Combine&& combine) {
  __shared__ T of_warps[32];
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  T all = of_warps[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) all = combine(all, of_warps[w]);
  __syncthreads();
  return all;
}

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The power of two to multiply addends by: sums up to `bound` then fit 30 bits, which leaves one for the rounding of
/// addends should all visits meet one voxel; addends up to `most` fit the 23 bits of a denormal float.
__device__ inline int fixed_point_shift(float bound, float most) {
  if (!(bound > 0)) return 0;
  return max(-105, min(126, min(29 - ilogbf(bound), 21 - ilogbf(most))));
}

/// The visit whose turn it is; one without planes where there is none.
__device__ inline Visit read(const Visit* visits, const Turns& turns) {
  if (!turns.present()) return {};
  const float4 line = __ldg(reinterpret_cast<const float4*>(visits + turns.next));
  const uint4 rest = __ldg(reinterpret_cast<const uint4*>(visits + turns.next) + 1);
  return {line.x, line.y, line.z, line.w, __uint_as_float(rest.x), __uint_as_float(rest.y), rest.z, rest.w};
}

/// A thread's visits, one after the other. `ahead`: the next one is on its way while one is projected.
template <bool ahead>
class VisitReader {
 public:
  __device__ VisitReader(const Visit* visits, const Turns& turns) : visits_(visits) {
    if constexpr (ahead) coming_ = read(visits_, turns);
  }
  /// The visit whose turn it is; then it is the next one's.
  __device__ Visit take(Turns& turns) {
    Visit visit;
    if constexpr (ahead) {
      visit = coming_;
    } else {
      visit = read(visits_, turns);
    }
    turns.next += turns.step;
    if constexpr (ahead) coming_ = read(visits_, turns);
    return visit;
  }

 private:
  const Visit* visits_;
  Visit coming_;
};

/// Adds to the tile's sums in shared memory, which begin at an address of that memory. A denormal float's bits are a
/// whole number of 2^-149: a product that is scaled to be one comes out of its multiplication as a fixed-point number,
/// rounded to nearest. Values come with 2^value_log2, and what a footprint multiplies them by has to have factor() too.
struct FixedPoint {
  std::uint32_t address;
  static constexpr unsigned together = 0xffffffffu;
  static constexpr int factor_log2 = -110, value_log2 = -149 - factor_log2;

  __device__ static constexpr float factor() { return 0x1p-110f; }
  __device__ void operator()(std::uint32_t word, float value) const {
    asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(address + 4 * word), "r"(__float_as_int(value)) : "memory");
  }
  /// Where `what` <= `limit`, else 0: around a predicated atomic the compiler parts the lanes of a warp and joins them
  /// again, which costs more than the addition.
  __device__ void add_where(float what, float limit, std::uint32_t word, float value) const {
    (*this)(word, what <= limit ? value : 0.0f);
  }
};

/// Adds to the image itself.
struct OneByOne : Unscaled {
  const TileBox& box;
  const AxisTiles& axis;
  float* image;
  unsigned together;

  __device__ void operator()(std::uint32_t word, float value) const {
    std::int64_t voxel;
    if (box.voxel_of(static_cast<int>(word), axis, voxel)) atomicAdd(image + voxel, value);
  }
  __device__ void add_where(float what, float limit, std::uint32_t word, float value) const {
    if (what <= limit) (*this)(word, value);
  }
};

/// shares[slot] = each visit's part of its event's line integral, without the event's scale.
template <class Footprint>
__global__ void __launch_bounds__(Footprint::threads, 1)
    forward_tiles(VisitView plan, Footprint footprint, const float* __restrict__ image, float* __restrict__ shares,
                  PassState* state) {
  extern __shared__ float tile[];
  Item item;
  while (next_item(plan, &state->next_forward, item)) {
    const AxisTiles& axis = axis_of(plan.tiling, item.tile);
    TileBox::make(axis, plan.tiling.in_image(item.tile)).load(image + plan.tiling.first_voxel(item.tile), tile);
    Turns turns(plan, item);
    VisitReader<Footprint::fetches_ahead> visits(plan.visits, turns);
    __syncthreads();
    while (turns.warp_present()) {
      const bool present = turns.present();
      const Visit visit = visits.take(turns);
      const float sum = footprint.forward(tile, axis, visit);
      if (present) shares[visit.slot] = sum;
    }
  }
}

/// Puts an item's ratios, found by slot, into the order of visits, those beyond 2^6 times their geometric mean with a
/// negative sign: as fixed-point numbers they would leave too few bits for all others, so they are added one by one.
/// Returns the power of two to multiply the others by, so that no sum of theirs overflows.
__device__ inline int order_ratios(const VisitView& plan, const Item& item, float largest_weight, const float* shares,
                                   float* ratios, PassState* state) {
  int exponents = 0, used = 0;
  for (Turns turns(plan, item); turns.present(); turns.next += turns.step) {
    const float ratio = shares[plan.slots[turns.next]];
    ratios[turns.next] = ratio;
    if (ratio > 0) {
      exponents += ilogbf(ratio);
      ++used;
    }
  }
  exponents = over_block(exponents, Plus());
  used = over_block(used, Plus());
  constexpr int outlier_exponent = 6;
  const float largest = exp2f(fminf(rintf(__fdividef(exponents, max(used, 1))) + outlier_exponent, 126.0f));
  float bound = 0, most = 0;
  for (Turns turns(plan, item); turns.present(); turns.next += turns.step) {
    const float ratio = ratios[turns.next];
    if (ratio > largest) {
      ratios[turns.next] = -ratio;
      state->any_outlier = 1;  // all that write, write this
    } else {
      bound += ratio;
      most = fmaxf(most, ratio);
    }
  }
  // A visit adds to a voxel at most once, so the sum of ratios bounds every sum.
  return fixed_point_shift(over_block(bound, Plus()) * largest_weight, over_block(most, Larger()) * largest_weight);
}

/// accumulator += each visit's ratio along its path. `shares` has the ratios by slot; `ratios` is scratch for them in
/// the order of visits.
template <class Footprint>
__global__ void __launch_bounds__(Footprint::threads, 1)
    back_tiles(VisitView plan, Footprint footprint, const float* __restrict__ shares, float* ratios,
               float* __restrict__ accumulator, PassState* state) {
  extern __shared__ int sums[];
  auto sums_at = static_cast<std::uint32_t>(__cvta_generic_to_shared(sums));
  asm("" : "+r"(sums_at));  // or it is computed anew for every addition
  Item item;
  while (next_item(plan, &state->next_back, item)) {
    const AxisTiles& axis = axis_of(plan.tiling, item.tile);
    const TileBox box = TileBox::make(axis, plan.tiling.in_image(item.tile));
    for (int word = static_cast<int>(threadIdx.x); word < axis.words(); word += Footprint::threads) sums[word] = 0;
    const int shift = order_ratios(plan, item, footprint.largest_weight(), shares, ratios, state);
    const float scale = ldexpf(1.0f, shift + FixedPoint::value_log2), unscale = ldexpf(1.0f, -shift);
    Turns turns(plan, item);
    VisitReader<Footprint::fetches_ahead> visits(plan.visits, turns);
    float coming_ratio = turns.present() ? ratios[turns.next] : 0.0f;
    while (turns.warp_present()) {
      const Visit visit = visits.take(turns);
      const float ratio = fmaxf(coming_ratio, 0.0f);
      coming_ratio = turns.present() ? ratios[turns.next] : 0.0f;
      footprint.back(axis, visit, ratio * scale, FixedPoint{sums_at});
    }
    __syncthreads();
    box.add_to(accumulator + plan.tiling.first_voxel(item.tile), sums,
               [&](int sum) { return static_cast<float>(sum) * unscale; });
  }
}

/// What back_tiles leaves out: visits of a negative ratio, each added to the image by one thread.
template <class Footprint>
__global__ void back_outliers(VisitView plan, Footprint footprint, const float* ratios, float* accumulator,
                              const PassState* state) {
  if (state->any_outlier == 0) return;
  const auto tiles = static_cast<std::uint32_t>(plan.tiling.count());
  const std::uint32_t visits = plan.tile_begin[tiles];
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < visits; i += gridDim.x * blockDim.x) {
    if (ratios[i] >= 0) continue;
    std::uint32_t tile = 0, end = tiles;  // the last tile that begins at or before i
    while (end - tile > 1) {
      const std::uint32_t middle = (tile + end) / 2;
      (plan.tile_begin[middle] <= i ? tile : end) = middle;
    }
    const AxisTiles& axis = axis_of(plan.tiling, tile);
    const TileBox box = TileBox::make(axis, plan.tiling.in_image(tile));
    float* image = accumulator + plan.tiling.first_voxel(tile);
    footprint.back(axis, plan.visits[i], -ratios[i], OneByOne{{}, box, axis, image, 1u << threadIdx.x % 32});
  }
}

}  // namespace detail

/// What the passes of one projector need on the current CUDA device, and the pass itself. One pass at a time.
class Workspace {
 public:
  Workspace();
  /// How many blocks work on a plan: one a multiprocessor.
  int blocks() const { return blocks_; }
  /// Words of shared memory that a tile may have.
  int words() const { return words_; }

  /// Begins a pass: the tally is zero.
  void begin(Stream stream);
  /// accumulator += A^T(1 / (A x + c/m)) over the events of `made`, queued on the stream; `additive` null, or that of
  /// the first of these events.
  template <class Footprint>
  void em_step(const Visits& made, const Footprint& footprint, const float* additive, const float* image,
               float* accumulator, Stream stream) {
    if (made.events == 0) return;
    prepare(made, stream);
    const VisitView view = made.view();
    const int bytes = made.tiling.words() * static_cast<int>(sizeof(float));
    if (made.visits.empty()) {  // no line meets the image, but all count
      take_ratios(view, footprint.unit(), additive, stream);
      return;
    }
    launch(detail::forward_tiles<Footprint>, Footprint::threads, bytes, stream, view, footprint, image, shares_.data(),
           state_.data());
    take_ratios(view, footprint.unit(), additive, stream);
    launch(detail::back_tiles<Footprint>, Footprint::threads, bytes, stream, view, footprint, shares_.data(),
           ratios_.data(), accumulator, state_.data());
    detail::back_outliers<<<static_cast<unsigned>(blocks_) * 8, 256, 0, stream>>>(view, footprint, ratios_.data(),
                                                                                  accumulator, state_.data());
    check_launch("add outliers");
  }
  /// What the pass has seen. Waits for it.
  EmTally tally(Stream stream);

 private:
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), int threads, int bytes, Stream stream, Arguments... arguments) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "reserve shared memory for a tile");
    kernel<<<static_cast<unsigned>(blocks_), threads, static_cast<std::size_t>(bytes), stream>>>(arguments...);
    check_launch("project tiles");
  }
  void prepare(const Visits& made, Stream stream);
  /// From each event's shares its expectation; the shares become what its visits are to add back: scale / expectation.
  void take_ratios(const VisitView& plan, float unit, const float* additive, Stream stream);

  int blocks_ = 0, words_ = 0;
  Buffer<PassState> state_;
  Buffer<float> shares_;  // by slot: a visit's part of the line integral, then its ratio
  Buffer<float> ratios_;  // the latter in the order of visits
};

}  // namespace tofstream::tiled
