// CPU projectors: see cpu_projector.hpp.
#include "kernels/project/cpu_projector.hpp"

#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

namespace tofstream {

CpuProjector::CpuProjector(const Grid& grid, std::unique_ptr<const CpuKernel> kernel,
                           const CpuProjectorSettings& settings)
    : grid_((validate_basis(grid), grid)),
      kernel_(std::move(kernel)),
      reach_mm_(settings.reach_mm),
      slots_(settings.image_floats > 0 ? settings.image_floats : grid.voxels(), settings.deterministic) {}

void CpuProjector::forward(const EventView& events, const float* image, float* expectation, Stream) {
  constexpr std::int64_t grain = 1024;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, events.count, grain), [&](const auto& range) {
    kernel_->forward(events.slice(range.begin(), range.end() - range.begin()), image, expectation + range.begin());
  });
}

void CpuProjector::back(const EventView& events, const float* values, float* image, Stream) {
  slots_.accumulate(events.count, image, [&](int, std::int64_t begin, std::int64_t end, float* slot_image) {
    kernel_->back(events.slice(begin, end - begin), values ? values + begin : nullptr, slot_image);
  });
}

EmTally CpuProjector::em_step(const EventView& events, const float* image, float* accumulator, Stream) {
  std::vector<EmTally> tallies(static_cast<std::size_t>(slots_.slots()));
  slots_.accumulate(events.count, accumulator, [&](int slot, std::int64_t begin, std::int64_t end, float* slot_image) {
    tallies[static_cast<std::size_t>(slot)] += kernel_->em_step(events.slice(begin, end - begin), image, slot_image);
  });
  EmTally total;
  for (const EmTally& tally : tallies) total += tally;
  return total;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
