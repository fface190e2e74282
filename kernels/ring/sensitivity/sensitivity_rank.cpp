// A rank of this process: see sensitivity_rank.hpp.
#include "kernels/ring/sensitivity/sensitivity_rank.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/ring/sensitivity/local_rank.hpp"

namespace tofstream {

namespace detail {

LocalSensitivityRank::LocalSensitivityRank(const SensitivityWork& work, ListModeProjector& projector, Stream stream)
    : projector_(projector), stream_(stream) {
  if (!work.is_of_lines) {
    drawing_.emplace(work, projector, stream);
    return;
  }
  // A histogram's scanner has not moved.
  for (const Image* map : {work.mu.object, work.mu.hardware})
    if (map) attenuation_.emplace_back(*map, projector.backend());
}

std::int64_t LocalSensitivityRank::project_pairs(int replicate, std::int64_t part, float* sum) {
  if (!drawing_) throw std::logic_error("a rank that projects lines draws no pairs");
  return drawing_->project(replicate, part, sum);
}

std::int64_t LocalSensitivityRank::project_lines(EventBatch lines, float* sum) {
  if (lines.count == 0) return 0;
  if (lines.multiplicative.empty()) {
    lines.multiplicative = Buffer<float>(Memory::host, lines.count);
    std::ranges::fill(lines.multiplicative.span(), 1.0f);
  }
  lines_ = memory_of(projector_.backend()) == Memory::host ? std::move(lines)
                                                           : lines.to(memory_of(projector_.backend()), stream_);
  EventView view = lines_.view();
  view.multiplicative = nullptr;
  view.tof_mm = nullptr;
  for (const Attenuation& each : attenuation_) each.apply(view, lines_.multiplicative.data(), stream_);
  projector_.back(view, lines_.multiplicative.data(), sum, stream_);
  return lines_.count;
}

}  // namespace detail

std::unique_ptr<SensitivityRank> make_sensitivity_rank(const SensitivityWork& work, ListModeProjector& projector,
                                                       Stream stream) {
  return std::make_unique<detail::LocalSensitivityRank>(work, projector, stream);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
