// Ratios of views in CUDA: see view_ratio.hpp. A block of threads sums over a stretch of a view in a fixed order, and
// the host over a view's stretches in theirs: no atomics, the same bits each time.
#include <algorithm>
#include <vector>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/host_flag.cuh"
#include "kernels/math/log_table.cuh"
#include "kernels/project/view_pixel.hpp"
#include "kernels/project/view_ratio.hpp"

namespace tofstream {

namespace {

constexpr int ratio_threads = 256, pixels_at_once = 4;
constexpr const char* ratio_purpose = "compare views with their expectation";

/// Pixels that a block sums over: few, so that a few small views fill a GPU, or where a view does so itself more, whose
/// sums cost less.
TOFSTREAM_HOST_DEVICE std::int64_t stretch_of(std::int64_t pixels) {
  constexpr std::int64_t large_view = 1 << 18;
  return pixels < large_view ? 2 * ratio_threads : 8 * ratio_threads;
}

__global__ void __launch_bounds__(ratio_threads)
    ratio_of_views(Views views, std::int64_t pixels, float* projected, detail::StretchSum* sums) {
  const auto view = static_cast<int>(blockIdx.y);
  const std::int64_t stretch = stretch_of(pixels), begin = std::int64_t{blockIdx.x} * stretch;
  const std::int64_t end = begin + stretch < pixels ? begin + stretch : pixels;
  const std::int64_t first = std::int64_t{view} * pixels;
  double skipped = 0, log_sum = 0;
  chain::wait_for_those_before();
  for (std::int64_t i = begin + threadIdx.x; i < end; i += pixels_at_once * ratio_threads) {
    // All is read before anything is written, which the compiler must take for what is read next.
    PixelRatio of[pixels_at_once];
#pragma unroll
    for (int n = 0; n < pixels_at_once; ++n) {
      const std::int64_t pixel = first + i + n * ratio_threads;
      if (i + n * ratio_threads < end) of[n] = ratio_of_pixel(views, view, pixel, projected[pixel]);
    }
#pragma unroll
    for (int n = 0; n < pixels_at_once; ++n) {
      skipped += static_cast<double>(of[n].skipped);
      log_sum += static_cast<double>(of[n].counted) * log_of_float(of[n].expectation);
      if (i + n * ratio_threads < end) projected[first + i + n * ratio_threads] = of[n].ratio;
    }
  }
  constexpr int lanes = 32, warps = ratio_threads / lanes;
  __shared__ double of_warps[2][warps];
  for (int half = lanes / 2; half > 0; half /= 2) {
    skipped += __shfl_down_sync(~0u, skipped, half);
    log_sum += __shfl_down_sync(~0u, log_sum, half);
  }
  if (threadIdx.x % lanes == 0) {
    of_warps[0][threadIdx.x / lanes] = skipped;
    of_warps[1][threadIdx.x / lanes] = log_sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  detail::ViewSums sum;
  for (int warp = 0; warp < warps; ++warp) {
    sum.skipped += of_warps[0][warp];
    sum.log_sum += of_warps[1][warp];
  }
  detail::StretchSum& to = sums[blockIdx.y * gridDim.x + blockIdx.x];
  to.sums = sum;
  raise_flag(to.is_there);
}

__global__ void efficiencies_of_views(Views views, std::int64_t pixels, float* values) {
  const std::int64_t i = elementwise::element();
  if (i < views.count) values[i] = efficiency_of_pixel(views, static_cast<int>(i / pixels), i);
}

std::int64_t stretches_of(const Views& views) {
  const std::int64_t pixels = views.set->pixels(), stretch = stretch_of(pixels);
  return (pixels + stretch - 1) / stretch;
}

}  // namespace

bool detail::StretchSums::begin(const Views& views) {
  const std::int64_t size = views.views == 0 ? 0 : stretches_of(views) * views.views;
  const bool is_larger = sums_.size() < size;
  if (is_larger) sums_ = Buffer<StretchSum>(Memory::pinned, size);
  std::fill_n(sums_.data(), size, StretchSum{});
  return is_larger;
}

void detail::StretchSums::queue_ratio(const Views& views, float* projected, Stream stream) {
  if (views.views == 0) return;
  const auto stretches = static_cast<unsigned>(stretches_of(views));
  chain::launch(ratio_purpose, ratio_of_views, dim3(stretches, static_cast<unsigned>(views.views)), ratio_threads, 0,
                stream, views, views.set->pixels(), projected, sums_.data());
}

EmTally detail::StretchSums::tally(const Views& views, Stream stream) const {
  if (views.views == 0) return {};
  const std::int64_t stretches = stretches_of(views);
  std::vector<ViewSums> of_views(static_cast<std::size_t>(views.views));
  for (std::int64_t s = 0; s < stretches * views.views; ++s) {
    wait_for_flag(sums_[s].is_there, stream, ratio_purpose);
    ViewSums& of_view = of_views[static_cast<std::size_t>(s / stretches)];
    of_view.skipped += sums_[s].sums.skipped;
    of_view.log_sum += sums_[s].sums.log_sum;
  }
  return tally_of(views, of_views.data());
}

void detail::view_efficiencies_cuda(const Views& views, float* values, Stream stream) {
  if (views.count == 0) return;
  efficiencies_of_views<<<elementwise::blocks(views.count), elementwise::threads, 0, stream>>>(
      views, views.set->pixels(), values);
  check_launch("find the efficiencies of views");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
