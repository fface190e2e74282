// Histograms of ratios by tile, and the scales that follow: see tile_scales.hpp.
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/project/tiled/tile_of_visit.cuh"
#include "kernels/project/tiled/tile_scales.hpp"

namespace tofstream::tiled {

namespace {

constexpr int count_threads = exponents;  // one for each exponent
constexpr std::uint32_t visits_a_thread = 16, visits_a_block = visits_a_thread * count_threads;

/// Where a visit's ratio is found: first its key, then, in memory that the key leads to, the ratio.
__device__ std::uint32_t key_of(const RatiosBySlot& given, std::uint32_t visit) {
  return given.slots[visit];
}
__device__ float ratio_at(const RatiosBySlot& given, std::uint32_t slot) {
  return __ldg(given.ratios + slot);
}
__device__ VisitEvent key_of(const ValuesOfEvents& given, std::uint32_t visit) {
  const uint2 whole = __ldg(reinterpret_cast<const uint2*>(given.visit_events) + visit);
  return {whole.x, __uint_as_float(whole.y)};
}
__device__ float ratio_at(const ValuesOfEvents& given, const VisitEvent& of) {
  if (of.event == no_event) return 0;  // whatever the scale
  return (given.values ? __ldg(given.values + of.event) : 1.0f) * given.unit * of.scale;
}

/// Brings ratios into the order of visits, and counts them by tile and exponent. Clears the range for choose_scales.
template <class Given>
__global__ void __launch_bounds__(count_threads, 4)  // as many as the blocks for a million events, all at work at once
    order_ratios(VisitView plan, std::uint32_t visits, Given given, float* ratios, std::uint32_t* histogram,
                 ScaleRange* range, BackState* state) {
  // Ratios of a tile are much alike: few lanes share a copy of the counters, and copies lie in different banks.
  constexpr int copies = 8, stride = exponents + 1;
  __shared__ std::uint32_t counts[copies * stride];
  for (int i = static_cast<int>(threadIdx.x); i < copies * stride; i += count_threads) counts[i] = 0;
  std::uint32_t* own = counts + threadIdx.x % copies * stride;
  const std::uint32_t begin = blockIdx.x * visits_a_block, end = min(begin + visits_a_block, visits);
  if (blockIdx.x == 0 && threadIdx.x == 0) *range = {-1000, 1000, 0};
  decltype(key_of(given, 0)) key[visits_a_thread];
  float ratio[visits_a_thread];
  const auto visit = [&](std::uint32_t k) { return begin + threadIdx.x + k * count_threads; };
#pragma unroll
  for (std::uint32_t k = 0; k < visits_a_thread; ++k)
    if (visit(k) < end) key[k] = key_of(given, visit(k));
  std::uint32_t tile = tile_of_visit(plan, begin);  // while the keys are on their way
#pragma unroll
  for (std::uint32_t k = 0; k < visits_a_thread; ++k) ratio[k] = visit(k) < end ? ratio_at(given, key[k]) : 0;
#pragma unroll
  for (std::uint32_t k = 0; k < visits_a_thread; ++k)
    if (visit(k) < end) ratios[visit(k)] = ratio[k];
  if constexpr (std::is_same_v<Given, ValuesOfEvents>) {
    bool any_negative = false;
#pragma unroll
    for (std::uint32_t k = 0; k < visits_a_thread; ++k) any_negative |= ratio[k] < 0;
    if (any_negative) state->negative_pass = given.pass;  // every thread that writes writes the same
  }
  __syncthreads();
  for (std::uint32_t first = begin; first < end; ++tile) {
    const std::uint32_t last = min(end, plan.tile_begin[tile + 1]);
    if (first == last) continue;  // a tile without visits
#pragma unroll
    for (std::uint32_t k = 0; k < visits_a_thread; ++k)
      if (visit(k) >= first && visit(k) < last) atomicAdd(own + exponent_of(ratio[k]), 1u);
    __syncthreads();
    std::uint32_t count = 0;
    for (int copy = 0; copy < copies; ++copy) {
      std::uint32_t& of_copy = counts[copy * stride + static_cast<int>(threadIdx.x)];
      count += of_copy;
      of_copy = 0;
    }
    if (count > 0) atomicAdd(histogram + std::size_t{tile} * exponents + threadIdx.x, count);
    __syncthreads();
    first = last;
  }
}

template <class T>
__device__ T over_warp(T value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

/// The exponent of the power of two above a positive number.
__device__ inline int exponent_above(double x) {
  return ilogb(x) + 1;
}

/// A warp chooses a tile's scale, and clears its histogram for the next pass. Zeros and denormal ratios count as
/// nothing; infinities and NaNs have the largest exponent, so they are added one by one. Clears the counters of the
/// kernels that follow, which takes no launch of its own here.
__global__ void choose_scales(VisitView plan, std::uint32_t* histogram, float largest_weight, TileScale* scales,
                              ScaleRange* range, BackState* state) {
  if (blockIdx.x == 0 && threadIdx.x == 0) state->next_item = state->outliers = 0;
  constexpr int each = exponents / 32;
  constexpr int outlier_exponent = 6;  // above the ratios' geometric mean
  const auto tile = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (tile >= plan.tiling.count()) return;
  const std::uint32_t visits = plan.tile_begin[tile + 1] - plan.tile_begin[tile],
                      parts = max(plan.tile_parts[tile], 1u);
  unsigned count[each], own = 0;
  unsigned long long weighted = 0;
  for (int k = 0; k < each; ++k) {
    const int exponent = lane * each + k;
    std::uint32_t& n = histogram[static_cast<std::size_t>(tile) * exponents + static_cast<std::size_t>(exponent)];
    count[k] = exponent == 0 ? 0 : n;
    n = 0;
    own += count[k];
    weighted += static_cast<unsigned long long>(count[k]) * static_cast<unsigned>(exponent);
  }
  const unsigned all = over_warp(own);
  weighted = over_warp(weighted);
  if (all == 0) {
    if (lane == 0) scales[tile] = {INFINITY, 0};
    return;
  }
  const int limit = min(mean_exponent(weighted, all) + outlier_exponent, highest_exponent);

  // An item's visits add to a voxel at most once each: the largest ratios that one item could have bound its sums.
  const unsigned of_item = ((visits + 31) / 32 + parts - 1) / parts * 32;
  unsigned usual = 0;
  for (int k = 0; k < each; ++k) usual += lane * each + k <= limit ? count[k] : 0;
  unsigned before = usual;  // usual ratios of larger exponents
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned theirs = __shfl_down_sync(0xffffffffu, before, distance);
    if (lane + distance < 32) before += theirs;
  }
  before -= usual;  // in other lanes
  double bound = 0;
  int most = 0;
  unsigned bands = 0;
  for (int k = each - 1; k >= 0; --k) {
    const int exponent = lane * each + k;
    if (count[k] == 0) continue;
    if (exponent > limit) {
      bands |= 1u << exponent / exponents_a_band;
      continue;
    }
    const unsigned taken = before < of_item ? min(count[k], of_item - before) : 0;
    bound += static_cast<double>(taken) * exp2(static_cast<double>(exponent + 1 - exponent_bias));
    before += count[k];
    most = max(most, exponent);
  }
  bound = over_warp(bound) * static_cast<double>(largest_weight);
  most = __reduce_max_sync(0xffffffffu, most);
  bands = __reduce_or_sync(0xffffffffu, bands);
  if (lane != 0) return;
  const double most_addend = exp2(static_cast<double>(most + 1 - exponent_bias)) * static_cast<double>(largest_weight);
  const int shift = max(-105, min(126, min(30 - exponent_above(bound), 22 - exponent_above(most_addend))));
  scales[tile] = {exp2f(static_cast<float>(limit + 1 - exponent_bias)), shift};
  atomicMax(&range->highest_shift, shift);
  atomicMin(&range->lowest_shift, shift);
  if (bands != 0) atomicOr(&range->outlier_bands, bands);
}

}  // namespace

void TileScales::fit(int tiles, Stream stream) {
  if (scales.size() >= tiles) return;
  histogram = Buffer<std::uint32_t>::zeros(Memory::device, std::int64_t{tiles} * exponents, stream);
  scales = Buffer<TileScale>(Memory::device, tiles, stream);
}

template <class Given>
void find_scales(const VisitView& plan, std::int64_t visits, const Given& given, float* ratios, float largest_weight,
                 TileScales& result, BackState* state, Stream stream) {
  const int tiles = plan.tiling.count();
  const auto blocks = static_cast<unsigned>((visits + visits_a_block - 1) / visits_a_block);
  order_ratios<<<blocks, count_threads, 0, stream>>>(plan, static_cast<std::uint32_t>(visits), given, ratios,
                                                     result.histogram.data(), result.range.data(), state);
  check_launch("order ratios by visit");
  constexpr int threads = 64;
  choose_scales<<<static_cast<unsigned>((tiles * 32 + threads - 1) / threads), threads, 0, stream>>>(
      plan, result.histogram.data(), largest_weight, result.scales.data(), result.range.data(), state);
  check_launch("choose scales");
}

template void find_scales(const VisitView&, std::int64_t, const RatiosBySlot&, float*, float, TileScales&, BackState*,
                          Stream);
template void find_scales(const VisitView&, std::int64_t, const ValuesOfEvents&, float*, float, TileScales&, BackState*,
                          Stream);

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
