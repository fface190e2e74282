// Ratios of views on the CPU: see view_ratio.hpp. Sums are made over blocks of pixels, and over a view's blocks in
// their order.
#include "kernels/project/view_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/project/view_pixel.hpp"

namespace tofstream {

namespace {

constexpr std::int64_t view_block = 4096;  // pixels

/// Calls visit(block, view, first pixel, pixel after the last one) for the blocks of all views, in parallel.
template <class Visit>
void for_each_view_block(const Views& views, Visit&& visit) {
  const std::int64_t pixels = views.set->pixels(), blocks = (pixels + view_block - 1) / view_block;
  tbb::parallel_for(std::int64_t{0}, blocks * views.views, [&](std::int64_t task) {
    const std::int64_t view = task / blocks, begin = task % blocks * view_block;
    visit(task, static_cast<int>(view), view * pixels + begin, view * pixels + std::min(begin + view_block, pixels));
  });
}

}  // namespace

void detail::require_counts(const Views& views) {
  if (views.count > 0 && !views.counts) throw std::invalid_argument("EM needs the counts of views, and they have none");
}

EmTally detail::tally_of(const Views& views, const ViewSums* sums) {
  EmTally tally;
  for (int view = 0; view < views.views; ++view) {
    const auto counts = static_cast<std::int64_t>(views.records[view].counts);
    const auto skipped = std::min(static_cast<std::int64_t>(std::llround(sums[view].skipped)), counts);
    tally += {counts - skipped, skipped, sums[view].log_sum};
  }
  return tally;
}

EmTally view_ratio(const Views& views, float* projected, Backend backend, Stream stream) {
  detail::require_counts(views);
  if (backend == Backend::cuda) {
    detail::StretchSums sums;
    sums.begin(views);
    sums.queue_ratio(views, projected, stream);
    const EmTally tally = sums.tally(views, stream);
    synchronize(stream);
    return tally;
  }
  if (views.views == 0) return {};
  const std::int64_t pixels = views.set->pixels(), blocks = (pixels + view_block - 1) / view_block;
  std::vector<detail::ViewSums> of_blocks(static_cast<std::size_t>(blocks * views.views));
  for_each_view_block(views, [&](std::int64_t block, int view, std::int64_t begin, std::int64_t end) {
    detail::ViewSums sums;
    for (std::int64_t i = begin; i < end; ++i) {
      const PixelRatio pixel = ratio_of_pixel(views, view, i, projected[i]);
      projected[i] = pixel.ratio;
      sums.skipped += static_cast<double>(pixel.skipped);
      if (pixel.counted != 0)
        sums.log_sum += static_cast<double>(pixel.counted) * std::log(static_cast<double>(pixel.expectation));
    }
    of_blocks[static_cast<std::size_t>(block)] = sums;
  });
  std::vector<detail::ViewSums> of_views(static_cast<std::size_t>(views.views));
  for (std::size_t block = 0; block < of_blocks.size(); ++block) {
    detail::ViewSums& sums = of_views[block / static_cast<std::size_t>(blocks)];
    sums.skipped += of_blocks[block].skipped;
    sums.log_sum += of_blocks[block].log_sum;
  }
  return detail::tally_of(views, of_views.data());
}

void view_efficiencies(const Views& views, float* values, Backend backend, Stream stream) {
  if (backend == Backend::cuda) return detail::view_efficiencies_cuda(views, values, stream);
  if (views.views == 0) return;
  for_each_view_block(views, [&](std::int64_t, int view, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) values[i] = efficiency_of_pixel(views, view, i);
  });
}

#ifndef TOFSTREAM_HAVE_CUDA
bool detail::StretchSums::begin(const Views&) {
  refuse_cuda();
}
void detail::StretchSums::queue_ratio(const Views&, float*, Stream) {
  refuse_cuda();
}
EmTally detail::StretchSums::tally(const Views&, Stream) const {
  refuse_cuda();
}
void detail::view_efficiencies_cuda(const Views&, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
