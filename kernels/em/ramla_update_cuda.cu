// RAMLA's update on a CUDA device: see ramla_update.hpp. Blocks leave the largest sensitivity of their voxels, and
// those of the update take the largest of these; the last one to end writes into memory of the host what was found.
#include <algorithm>
#include <cstring>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/host_flag.cuh"
#include "kernels/em/em_voxel.hpp"
#include "kernels/em/ramla_voxel.hpp"

namespace tofstream::detail {

namespace {

constexpr int ramla_threads = 256, ramla_lanes = 32, voxels_at_once = 4;
constexpr unsigned most_maxima = 264;
constexpr const char* ramla_purpose = "update the estimate by RAMLA";

/// In pinned memory.
struct RamlaReport {
  unsigned maximum_bits = 0;
  std::uint32_t is_there = 0;
  unsigned long long replaced = 0;
};

/// In device memory. Floats that are not negative compare as the integers of their bits do.
struct RamlaWords {
  unsigned maxima[most_maxima];
  unsigned blocks_done;
  unsigned long long replaced;
};

/// The largest value of a block's threads, for all of them.
__device__ unsigned largest_of_block(unsigned bits) {
  __shared__ unsigned of_warps[ramla_threads / ramla_lanes];
  bits = __reduce_max_sync(~0u, bits);
  if (threadIdx.x % ramla_lanes == 0) of_warps[threadIdx.x / ramla_lanes] = bits;
  __syncthreads();
  unsigned largest = 0;
  for (const unsigned of_warp : of_warps) largest = max(largest, of_warp);
  return largest;
}

__global__ void __launch_bounds__(ramla_threads)
    find_maxima(const float* sensitivity, std::int64_t voxels, RamlaWords* words) {
  chain::wait_for_those_before();
  constexpr int at_once = 16;  // reads that are under way together
  unsigned bits = 0;
  const std::int64_t step = std::int64_t{gridDim.x} * ramla_threads;
  for (std::int64_t first = std::int64_t{blockIdx.x} * ramla_threads + threadIdx.x; first < voxels;
       first += at_once * step) {
    float values[at_once];
#pragma unroll
    for (int n = 0; n < at_once; ++n) values[n] = first + n * step < voxels ? sensitivity[first + n * step] : 0.0f;
#pragma unroll
    for (int n = 0; n < at_once; ++n) bits = max(bits, __float_as_uint(magnitude(values[n])));
  }
  const unsigned largest = largest_of_block(bits);
  if (threadIdx.x != 0) return;
  words->maxima[blockIdx.x] = largest;
  if (blockIdx.x == 0) {
    words->blocks_done = 0;
    words->replaced = 0;
  }
}

__global__ void __launch_bounds__(ramla_threads)
    update_ramla(RamlaArrays arrays, std::int64_t voxels, unsigned maxima, RamlaWords* words, RamlaReport* report) {
  chain::wait_for_those_before();
  const std::int64_t first = std::int64_t{blockIdx.x} * voxels_at_once * ramla_threads + threadIdx.x;
  RamlaVoxel voxel[voxels_at_once];
#pragma unroll
  for (int n = 0; n < voxels_at_once; ++n)
    if (first + n * ramla_threads < voxels) voxel[n] = RamlaVoxel::of(arrays, first + n * ramla_threads);
  unsigned bits = 0;
  for (unsigned i = threadIdx.x; i < maxima; i += ramla_threads) bits = max(bits, words->maxima[i]);
  bits = largest_of_block(bits);
  const float maximum = __uint_as_float(bits);
  int bad = 0;
  if (RamlaFactors::can_be(maximum)) {
    const RamlaFactors factors(arrays, maximum);
#pragma unroll
    for (int n = 0; n < voxels_at_once; ++n)
      if (first + n * ramla_threads < voxels)
        arrays.estimate[first + n * ramla_threads] = ramla_voxel(voxel[n], factors, bad);
  }
  const bool is_any_bad = __syncthreads_or(bad) != 0;  // all of the block's voxels are written
  if (is_any_bad) {
    const int of_warp = __reduce_add_sync(~0u, bad);
    if (threadIdx.x % ramla_lanes == 0 && of_warp > 0)
      atomicAdd(&words->replaced, static_cast<unsigned long long>(of_warp));
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&words->blocks_done, 1u) + 1 < gridDim.x) return;
  __threadfence();
  report->maximum_bits = bits;
  report->replaced = atomicAdd(&words->replaced, 0ULL);
  raise_flag(report->is_there);
}

unsigned blocks_of(std::int64_t voxels, int of_block) {
  return static_cast<unsigned>((voxels + of_block - 1) / of_block);
}

}  // namespace

RamlaFound ramla_update_cuda(const RamlaArrays& arrays, std::int64_t voxels, Stream stream) {
  if (voxels == 0) return {};
  Buffer<RamlaReport> report(Memory::pinned, 1);
  report[0] = {};
  Buffer<RamlaWords> words(Memory::device, 1, stream);
  const unsigned maxima = std::min(blocks_of(voxels, ramla_threads), most_maxima);
  chain::launch("find the largest sensitivity", find_maxima, maxima, ramla_threads, 0, stream, arrays.sensitivity,
                voxels, words.data());
  chain::launch(ramla_purpose, update_ramla, blocks_of(voxels, voxels_at_once * ramla_threads), ramla_threads, 0,
                stream, arrays, voxels, maxima, words.data(), report.data());
  wait_for_flag(report[0].is_there, stream, ramla_purpose);
  RamlaFound found{0, static_cast<std::int64_t>(report[0].replaced)};
  std::memcpy(&found.maximum, &report[0].maximum_bits, sizeof found.maximum);
  return found;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
