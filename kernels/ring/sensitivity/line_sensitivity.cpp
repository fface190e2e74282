// Sums over recorded lines: see line_sensitivity.hpp.
#include "kernels/ring/sensitivity/line_sensitivity.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/ring/sensitivity/local_rank.hpp"
#include "kernels/ring/sensitivity/rank_workers.hpp"

namespace tofstream {

Sensitivity sensitivity_of_lines(const SensitivityWork& work, const ProjectorRanks& projectors, Stream stream,
                                 const SensitivityProgress& progress) {
  constexpr std::int64_t lines_at_a_time = 1 << 20;
  const RecordedLines& lines = *work.scanner.lines;
  const Grid& grid = projectors.first.grid();
  detail::RankWorkers ranks(work, projectors,
                            std::make_shared<detail::LocalSensitivityRank>(work, projectors.first, stream));
  std::vector<double> sum(static_cast<std::size_t>(grid.voxels()));
  Sensitivity result{.pairs = lines.size()};
  const auto begin_of = [&](std::int64_t batch) { return std::min(batch * lines_at_a_time, lines.size()); };
  for (std::int64_t first = 0; begin_of(first) < lines.size(); first += ranks.size()) {
    int taken = 1;
    while (taken < ranks.size() && begin_of(first + taken) < lines.size()) ++taken;
    ranks.side_by_side(taken, [&](int rank, detail::RankAtWork& r) {
      const Stream own = rank == 0 ? stream : nullptr;
      if (r.sum.voxels.empty())
        r.sum = {grid, Buffer<float>(memory_of(projectors.first.backend()), grid.voxels(), own)};
      r.sum.voxels.clear(own);
      r.lines =
          r.rank->project_lines(lines.lines(begin_of(first + rank), begin_of(first + rank + 1)), r.sum.voxels.data());
    });
    for (int rank = 0; rank < taken; ++rank) {
      detail::RankAtWork& r = ranks[rank];
      // In double on the host, so that many batches add up as few do.
      if (r.lines > 0) {
        const std::vector<float> voxels = r.sum.voxels.to_vector(stream);
        for (std::size_t v = 0; v < sum.size(); ++v) sum[v] += static_cast<double>(voxels[v]);
      }
      result.drawn += r.lines;
      result.projected += r.lines;
    }
    if (progress) progress(static_cast<double>(begin_of(first + taken)) / static_cast<double>(lines.size()));
  }
  if (result.drawn == 0)
    throw std::invalid_argument("no line of the histogram can have counted: all of their correction factors are 0");
  result.image = {grid, Buffer<float>(Memory::host, grid.voxels())};
  std::ranges::transform(sum, result.image.voxels.span().begin(), [](double s) { return static_cast<float>(s); });
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
