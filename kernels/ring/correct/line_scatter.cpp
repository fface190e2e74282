// Scatter of lines on the host: see line_scatter.hpp.
#include "kernels/ring/correct/line_scatter.hpp"

#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/ring/correct/scatter-inl.hpp"

namespace tofstream {

LineScatterLookup::LineScatterLookup(std::shared_ptr<const ScatterEstimate> estimate) : estimate_(std::move(estimate)) {
  validate(*estimate_);
}

void LineScatterLookup::look_up(const EventView& lines, float* values, Memory memory, Stream stream) const {
  const ScatterView scatter = scatter_view(*estimate_, samples_on(memory));
  if (!on_host(memory)) return detail::look_up_scatter_cuda(scatter, lines, values, stream);
  constexpr std::int64_t grain = 2048;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, lines.count, grain), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i)
      values[i] = scatter_at(scatter, sinogram_place(lines.lor(i)));
  });
}

const float* LineScatterLookup::samples_on(Memory memory) const {
  if (on_host(memory)) return estimate_->values.data();
  const std::lock_guard lock(mutex_);
  if (on_device_.empty()) {
    on_device_ = Buffer<float>::from(estimate_->values).to(Memory::device);
    synchronize(nullptr);
  }
  return on_device_.data();
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::look_up_scatter_cuda(const ScatterView&, const EventView&, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
