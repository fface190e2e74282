// Ratios of views in CUDA: see view_ratio.hpp. A block of threads sums over a stretch of a view in a fixed order, and
// the host over a view's stretches in theirs: no atomics, the same bits each time.
#include <algorithm>
#include <atomic>
#include <stdexcept>
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
    ratio_of_views(Views views, std::int64_t pixels, float* projected, detail::StretchSum* sums) {
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
  detail::StretchSum& to = sums[blockIdx.y * gridDim.x + blockIdx.x];
  to.sums = sum;
  __threadfence_system();  // whoever sees that the sums are there sees them
  *static_cast<volatile std::uint32_t*>(&to.is_there) = 1;
}

__global__ void efficiencies_of_views(Views views, std::int64_t pixels, float* values) {
  const std::int64_t i = elementwise::element();
  if (i < views.count) values[i] = efficiency_of_pixel(views, static_cast<int>(i / pixels), i);
}

std::int64_t stretches_of(const Views& views) {
  return (views.set->pixels() + stretch_pixels - 1) / stretch_pixels;
}

/// Until the device has written it. The stream is asked now and then, since a kernel that failed writes nothing.
void wait_for(const detail::StretchSum& sum, Stream stream) {
  constexpr int looks_a_question = 256;
  const auto is_there = [&] {
    return *static_cast<const volatile std::uint32_t*>(&sum.is_there) != 0;  // the device changes it
  };
  for (int looks = 1; !is_there(); ++looks) {
    if (looks % looks_a_question != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaErrorNotReady) continue;
    check_cuda(status, "compare views with their expectation");
    if (!is_there()) throw std::logic_error("the sums of views are asked for before their ratio is queued");
  }
  std::atomic_thread_fence(std::memory_order_acquire);
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
  ratio_of_views<<<dim3(stretches, static_cast<unsigned>(views.views)), ratio_threads, 0, stream>>>(
      views, views.set->pixels(), projected, sums_.data());
  check_launch("compare views with their expectation");
}

EmTally detail::StretchSums::tally(const Views& views, Stream stream) const {
  if (views.views == 0) return {};
  const std::int64_t stretches = stretches_of(views);
  std::vector<ViewSums> of_views(static_cast<std::size_t>(views.views));
  for (std::int64_t s = 0; s < stretches * views.views; ++s) {
    wait_for(sums_[s], stream);
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
