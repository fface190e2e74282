// Sums over recorded lines: see line_sensitivity.hpp.
#include "kernels/ring/sensitivity/line_sensitivity.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/ring/correct/attenuation.hpp"

namespace tofstream {

Sensitivity sensitivity_of_lines(const RecordedLines& lines, ListModeProjector& projector, const Image* mu_per_mm,
                                 Stream stream, const SensitivityProgress& progress) {
  constexpr std::int64_t lines_at_a_time = 1 << 20;
  const Memory memory = memory_of(projector.backend());
  const Grid& grid = projector.grid();
  std::optional<Attenuation> attenuation;
  if (mu_per_mm) attenuation.emplace(*mu_per_mm, projector.backend());
  Buffer<float> part(memory, grid.voxels(), stream);
  std::vector<double> sum(static_cast<std::size_t>(grid.voxels()));
  Sensitivity result{.pairs = lines.size()};
  for (std::int64_t begin = 0; begin < lines.size(); begin += lines_at_a_time) {
    const std::int64_t end = std::min(begin + lines_at_a_time, lines.size());
    EventBatch batch = lines.lines(begin, end);
    if (batch.count > 0) {
      if (batch.multiplicative.empty()) {
        batch.multiplicative = Buffer<float>(Memory::host, batch.count);
        std::ranges::fill(batch.multiplicative.span(), 1.0f);
      }
      if (!on_host(memory)) batch = batch.to(memory, stream);
      EventView view = batch.view();
      view.multiplicative = nullptr;
      view.tof_mm = nullptr;
      if (attenuation) attenuation->apply(view, batch.multiplicative.data(), stream);
      part.clear(stream);
      projector.back(view, batch.multiplicative.data(), part.data(), stream);
      // In double on the host, so that many batches add up as few do.
      const std::vector<float> voxels = part.to_vector();
      for (std::size_t v = 0; v < sum.size(); ++v) sum[v] += static_cast<double>(voxels[v]);
      result.drawn += batch.count;
      result.projected += batch.count;
    }
    if (progress) progress(static_cast<double>(end) / static_cast<double>(lines.size()));
  }
  if (result.drawn == 0)
    throw std::invalid_argument("no line of the histogram can have counted: all of their correction factors are 0");
  result.image = {grid, Buffer<float>(Memory::host, grid.voxels())};
  std::ranges::transform(sum, result.image.voxels.span().begin(), [](double s) { return static_cast<float>(s); });
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
