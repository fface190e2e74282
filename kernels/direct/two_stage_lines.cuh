// Lines of a view's lattice in shared memory, row by row, and the sums of neighbouring values that both convolutions of
// two_stage on CUDA, along the view and along z, are made of. See two_stage_cuda.cuh.
#pragma once

#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_cuda.cuh"

namespace tofstream::two_stage {

__device__ inline float4 four_of(const float* values) {
  return *reinterpret_cast<const float4*>(values);
}

/// Rows of points, an odd number of floats apart: neighbouring rows, and neighbouring points, use different banks.
struct LineRows {
  float* values = nullptr;
  int stride = 0;

  __device__ float* at(int row, int point) const { return values + row * stride + point; }
  TOFSTREAM_HOST_DEVICE static int odd(int floats) { return floats | 1; }
};

/// sums[e] += the sum over t of weight[t] read(e + t), which is asked for 0, 1, ... in turn.
template <int outputs, class Read>
__device__ void add_taps(const float (&weight)[tap_block], Read read, float (&sums)[outputs]) {
#pragma unroll
  for (int i = 0; i < outputs + tap_block - 1; ++i) {
    const float value = read(i);
#pragma unroll
    for (int t = 0; t < tap_block; ++t)
      if (i - t >= 0 && i - t < outputs) sums[i - t] += weight[t] * value;
  }
}

/// The convolution's weights, which all threads of a block read, in shared memory.
__device__ inline void load_rest(const DeviceStages& stages, float* to) {
  for (int n = static_cast<int>(threadIdx.x); n < stages.blocks * tap_block; n += static_cast<int>(blockDim.x))
    to[n] = stages.rest[n];
}
inline std::size_t memory_of_rest(int reach) {
  return sizeof(float) * parts(2 * reach + 1, tap_block) * tap_block;
}

/// sums[e] = the convolution at the point e behind `from`, of blocks [begin, end) of its weights.
__device__ inline void convolve(const float* from, const float* rest, int begin, int end,
                                float (&sums)[outputs_a_thread]) {
#pragma unroll
  for (float& sum : sums) sum = 0;
#pragma unroll 2
  for (int b = begin; b < end; ++b) {
    const float4 low = four_of(rest + b * tap_block), high = four_of(rest + b * tap_block + 4);
    const float weight[tap_block] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    const float* const here = from + b * tap_block;
    add_taps(
        weight, [&](int i) { return here[i]; }, sums);
  }
}

constexpr int lanes_of_warp = 32;

/// to[row][point], of so many rows and points that lie `slice` and 1 apart, from rows of a line. All that a thread has
/// of a row is read before any is written, which the compiler must take for what is read next; so below.
__device__ inline void store_histo(const LineRows& line, int rows, int points, float* to, std::int64_t slice) {
  constexpr int at_once = 5;
  const int lane = static_cast<int>(threadIdx.x) % lanes_of_warp, warps = static_cast<int>(blockDim.x) / lanes_of_warp;
  for (int row = static_cast<int>(threadIdx.x) / lanes_of_warp; row < rows; row += warps)
    for (int first = lane; first < points; first += at_once * lanes_of_warp) {
      const float* const from = line.at(row, first);
      float* const out = to + row * slice + first;
      float values[at_once];
#pragma unroll
      for (int n = 0; n < at_once; ++n) values[n] = from[n * lanes_of_warp];
#pragma unroll
      for (int n = 0; n < at_once; ++n)
        if (first + n * lanes_of_warp < points) out[n * lanes_of_warp] = values[n];
    }
}

/// Points [begin, begin + width) of a histo-image's line, with zeros where it has none; null stands for ones. Parts of
/// two rows are under way at once.
__device__ inline void load_histo(const float* histo, std::int64_t slice, int rows, int points, int begin, int width,
                                  const LineRows& line) {
  constexpr int at_once = 4, rows_at_once = 2;
  const int lane = static_cast<int>(threadIdx.x) % lanes_of_warp, warps = static_cast<int>(blockDim.x) / lanes_of_warp;
  for (int row = static_cast<int>(threadIdx.x) / lanes_of_warp; row < rows; row += rows_at_once * warps)
    for (int first = lane; first < width; first += at_once * lanes_of_warp) {
      float values[rows_at_once][at_once];
#pragma unroll
      for (int r = 0; r < rows_at_once; ++r) {
        const float* const from = histo + (row + r * warps) * slice + begin + first;
#pragma unroll
        for (int n = 0; n < at_once; ++n) {
          const int point = begin + first + n * lanes_of_warp;
          const bool is_there = static_cast<unsigned>(point) < static_cast<unsigned>(points) && row + r * warps < rows;
          values[r][n] = is_there ? 1.0f : 0.0f;
          if (is_there && histo) values[r][n] = from[n * lanes_of_warp];
        }
      }
#pragma unroll
      for (int r = 0; r < rows_at_once; ++r) {
        if (row + r * warps >= rows) continue;
        float* const out = line.at(row + r * warps, first);
#pragma unroll
        for (int n = 0; n < at_once; ++n)
          if (first + n * lanes_of_warp < width) out[n * lanes_of_warp] = values[r][n];
      }
    }
}

/// Threads of a block for so many shares in as many rounds as `most` threads need.
inline unsigned threads_for(int shares, int most) {
  const int rounds = (shares + most - 1) / most, of_round = (shares + rounds - 1) / rounds;
  return static_cast<unsigned>((of_round + 31) / 32 * 32);
}

/// What this GPU gives to a block.
std::size_t most_shared_bytes();

/// Lets a kernel have all that the GPU gives to a block: projectors of several sizes use the same one.
template <class Kernel>
void take_shared(Kernel kernel) {
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_shared_bytes())),
      "take shared memory");
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
