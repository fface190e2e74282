// What a kernel that makes ratios of views sums over its pixels, a block of threads at a time, in a fixed order.
#pragma once

#include "kernels/cuda/host_flag.cuh"
#include "kernels/math/log_table.cuh"
#include "kernels/project/view_pixel.hpp"
#include "kernels/project/view_ratio.hpp"

namespace tofstream::detail {

/// A thread's part.
struct RatioSums {
  double skipped = 0, log_sum = 0;

  __device__ void add(const PixelRatio& of) {
    skipped += static_cast<double>(of.skipped);
    log_sum += static_cast<double>(of.counted) * log_of_float(of.expectation);
  }
  /// By all threads of a block, whole warps: the sums of all of them, and the flag that they are there. `of_warps`:
  /// shared memory for two numbers a warp.
  __device__ void store(double (*of_warps)[2], StretchSum& to) {
    constexpr int lanes = 32;
    for (int half = lanes / 2; half > 0; half /= 2) {
      skipped += __shfl_down_sync(~0u, skipped, half);
      log_sum += __shfl_down_sync(~0u, log_sum, half);
    }
    if (threadIdx.x % lanes == 0) {
      of_warps[threadIdx.x / lanes][0] = skipped;
      of_warps[threadIdx.x / lanes][1] = log_sum;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    ViewSums sum;
    for (int warp = 0; warp < static_cast<int>(blockDim.x) / lanes; ++warp) {
      sum.skipped += of_warps[warp][0];
      sum.log_sum += of_warps[warp][1];
    }
    to.sums = sum;
    raise_flag(to.is_there);
  }
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
