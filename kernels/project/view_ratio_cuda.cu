// Ratios of views in CUDA: see view_ratio.hpp. A block of threads sums over a stretch of a view in a fixed order, and
// the host over a view's stretches in theirs: no atomics, the same bits each time.
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/project/view_pixel.hpp"
#include "kernels/project/view_ratio.hpp"

namespace tofstream {

namespace {

constexpr int ratio_threads = 256;
constexpr std::int64_t stretch_pixels = 2 * ratio_threads;  // few, so that a few small views fill a GPU

__global__ void __launch_bounds__(ratio_threads)
    ratio_of_views(Views views, std::int64_t pixels, float* projected, detail::ViewSums* sums) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * stretch_pixels;
  const std::int64_t end = begin + stretch_pixels < pixels ? begin + stretch_pixels : pixels;
  const std::int64_t first = std::int64_t{blockIdx.y} * pixels;
  double skipped = 0, log_sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += ratio_threads)
    projected[first + i] =
        ratio_of_pixel(views, static_cast<int>(blockIdx.y), first + i, projected[first + i], skipped, log_sum);
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
  sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ void efficiencies_of_views(Views views, std::int64_t pixels, float* values) {
  const std::int64_t i = elementwise::element();
  if (i < views.count) values[i] = efficiency_of_pixel(views, static_cast<int>(i / pixels), i);
}

std::int64_t stretches_of(const Views& views) {
  return (views.set->pixels() + stretch_pixels - 1) / stretch_pixels;
}

}  // namespace

bool detail::StretchSums::make_room(const Views& views, Stream stream) {
  const std::int64_t size = views.views == 0 ? 0 : stretches_of(views) * views.views;
  if (device.size() >= size) return false;
  device = Buffer<ViewSums>(Memory::device, size, stream);
  host = Buffer<ViewSums>(Memory::pinned, size);
  return true;
}

void detail::queue_view_ratio_cuda(const Views& views, float* projected, StretchSums& sums, Stream stream) {
  if (views.views == 0) return;
  sums.make_room(views, stream);
  const auto stretches = static_cast<unsigned>(stretches_of(views));
  ratio_of_views<<<dim3(stretches, static_cast<unsigned>(views.views)), ratio_threads, 0, stream>>>(
      views, views.set->pixels(), projected, sums.device.data());
  check_launch("compare views with their expectation");
  copy(sums.host.data(), Memory::pinned, sums.device.data(), Memory::device,
       std::size_t{stretches} * static_cast<std::size_t>(views.views) * sizeof(ViewSums), stream);
}

EmTally detail::view_tally_cuda(const Views& views, const StretchSums& sums, Stream stream) {
  if (views.views == 0) return {};
  synchronize(stream);
  const std::int64_t stretches = stretches_of(views);
  std::vector<ViewSums> of_views(static_cast<std::size_t>(views.views));
  for (std::int64_t s = 0; s < stretches * views.views; ++s) {
    ViewSums& of_view = of_views[static_cast<std::size_t>(s / stretches)];
    of_view.skipped += sums.host[s].skipped;
    of_view.log_sum += sums.host[s].log_sum;
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
