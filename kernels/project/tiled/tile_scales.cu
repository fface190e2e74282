// Histograms of ratios by tile, and the scales that follow: see tile_scales.hpp.
#include <algorithm>

#include "kernels/cuda/check.hpp"
#include "kernels/project/tiled/tile_scales.hpp"
#include "kernels/project/tiled/visit_ranges.cuh"

namespace tofstream::tiled {

namespace {

constexpr int count_threads = exponents;  // one for each exponent
constexpr std::uint32_t visits_a_block = 4096;

/// Brings ratios into the order of visits, and counts them by tile and exponent. Clears the range for choose_scales.
__global__ void __launch_bounds__(count_threads)
    order_ratios(VisitView plan, const float* __restrict__ by_slot, float* ratios, std::uint32_t* histogram,
                 ScaleRange* range) {
  // Ratios of a tile are much alike: few lanes share a copy of the counters, and copies lie in different banks.
  constexpr int copies = 8, stride = exponents + 1;
  constexpr std::uint32_t batch = 8;  // loads on their way at a time
  __shared__ std::uint32_t counts[copies * stride];
  for (int i = static_cast<int>(threadIdx.x); i < copies * stride; i += count_threads) counts[i] = 0;
  __syncthreads();
  std::uint32_t* own = counts + threadIdx.x % copies * stride;
  if (blockIdx.x == 0 && threadIdx.x == 0) *range = {-1000, 1000, 0};
  for_each_tile_of_block(plan, visits_a_block, [&](std::uint32_t tile, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t first = begin + threadIdx.x; first < end; first += batch * count_threads) {
      std::uint32_t slot[batch];
      float ratio[batch];
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        const std::uint32_t i = first + b * count_threads;
        slot[b] = i < end ? __float_as_uint(ratios[i]) : 0;  // another's place may hold its ratio by now
      }
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) ratio[b] = by_slot[slot[b]];
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        const std::uint32_t i = first + b * count_threads;
        if (i >= end) break;
        ratios[i] = ratio[b];
        atomicAdd(own + (__float_as_uint(ratio[b]) >> 23 & 0xffu), 1u);
      }
    }
    __syncthreads();
    std::uint32_t count = 0;
    for (int copy = 0; copy < copies; ++copy) {
      std::uint32_t& of_copy = counts[copy * stride + static_cast<int>(threadIdx.x)];
      count += of_copy;
      of_copy = 0;
    }
    if (count > 0) atomicAdd(histogram + std::size_t{tile} * exponents + threadIdx.x, count);
    __syncthreads();
  });
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

/// A warp chooses a tile's scale. Zeros and denormal ratios count as nothing.
__global__ void choose_scales(VisitView plan, const std::uint32_t* histogram, float largest_weight, TileScale* scales,
                              ScaleRange* range) {
  constexpr int each = exponents / 32;
  constexpr int outlier_exponent = 6;  // above the ratios' geometric mean
  const auto tile = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (tile >= plan.tiling.count()) return;
  unsigned count[each], own = 0;
  unsigned long long weighted = 0;
  for (int k = 0; k < each; ++k) {
    const int exponent = lane * each + k;
    const unsigned n = histogram[static_cast<std::size_t>(tile) * exponents + static_cast<std::size_t>(exponent)];
    count[k] = exponent == 0 ? 0 : n;
    own += count[k];
    weighted += static_cast<unsigned long long>(count[k]) * static_cast<unsigned>(exponent);
  }
  const unsigned all = over_warp(own);
  weighted = over_warp(weighted);
  if (all == 0) {
    if (lane == 0) scales[tile] = {INFINITY, 0};
    return;
  }
  const int limit = min(static_cast<int>((weighted + all / 2) / all) + outlier_exponent, exponents - 2);

  // An item's visits add to a voxel at most once each: the largest ratios that one item could have bound its sums.
  const std::uint32_t visits = plan.tile_begin[tile + 1] - plan.tile_begin[tile],
                      parts = max(plan.tile_parts[tile], 1u);
  const unsigned of_item = ((visits + 31) / 32 + parts - 1) / parts * 32;
  unsigned before = 0;  // usual ratios of larger exponents in other lanes
  for (int source = 31; source > 0; --source) {
    unsigned usual = 0;
    for (int k = 0; k < each; ++k) usual += lane * each + k <= limit ? count[k] : 0;
    const unsigned theirs = __shfl_sync(0xffffffffu, usual, source);
    if (source > lane) before += theirs;
  }
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
  scales[tile] = {limit + 1 >= exponents - 1 ? INFINITY : exp2f(static_cast<float>(limit + 1 - exponent_bias)), shift};
  atomicMax(&range->highest_shift, shift);
  atomicMin(&range->lowest_shift, shift);
  if (bands != 0) atomicOr(&range->outlier_bands, bands);
}

}  // namespace

void find_scales(const VisitView& plan, std::int64_t visits, const float* by_slot, float* ratios, float largest_weight,
                 TileScales& result, Stream stream) {
  const int tiles = plan.tiling.count();
  if (result.scales.size() < tiles) {
    result.histogram = Buffer<std::uint32_t>(Memory::device, std::int64_t{tiles} * exponents, stream);
    result.scales = Buffer<TileScale>(Memory::device, tiles, stream);
  }
  result.histogram.clear(stream);
  const auto blocks = static_cast<unsigned>((visits + visits_a_block - 1) / visits_a_block);
  order_ratios<<<blocks, count_threads, 0, stream>>>(plan, by_slot, ratios, result.histogram.data(),
                                                     result.range.data());
  check_launch("order ratios by visit");
  constexpr int threads = 64;
  choose_scales<<<static_cast<unsigned>((tiles * 32 + threads - 1) / threads), threads, 0, stream>>>(
      plan, result.histogram.data(), largest_weight, result.scales.data(), result.range.data());
  check_launch("choose scales");
}

}  // namespace tofstream::tiled
