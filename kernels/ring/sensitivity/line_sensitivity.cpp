// Sums over recorded lines: see line_sensitivity.hpp.
#include "kernels/ring/sensitivity/line_sensitivity.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/ring/correct/attenuation.hpp"

namespace tofstream {

namespace {

/// What a rank has to project lines with, in its projector's memory.
class LinesOfRank {
 public:
  LinesOfRank(ListModeProjector& projector, const MuMaps& mu, Stream stream)
      : projector_(projector),
        memory_(memory_of(projector.backend())),
        stream_(stream),
        sum_(memory_, projector.grid().voxels(), stream) {
    // A histogram's scanner has not moved.
    for (const Image* map : {mu.object, mu.hardware})
      if (map) attenuation_.emplace_back(*map, projector.backend());
  }

  void project(const RecordedLines& lines, std::int64_t begin, std::int64_t end) {
    EventBatch batch = lines.lines(begin, end);
    count_ = batch.count;
    if (count_ == 0) return;
    if (batch.multiplicative.empty()) {
      batch.multiplicative = Buffer<float>(Memory::host, batch.count);
      std::ranges::fill(batch.multiplicative.span(), 1.0f);
    }
    if (!on_host(memory_)) batch = batch.to(memory_, stream_);
    EventView view = batch.view();
    view.multiplicative = nullptr;
    view.tof_mm = nullptr;
    for (const Attenuation& each : attenuation_) each.apply(view, batch.multiplicative.data(), stream_);
    sum_.clear(stream_);
    projector_.back(view, batch.multiplicative.data(), sum_.data(), stream_);
    voxels_ = sum_.to_vector();
  }

  std::int64_t count() const { return count_; }                 // of the last lines
  const std::vector<float>& voxels() const { return voxels_; }  // their sum, on the host

 private:
  ListModeProjector& projector_;
  Memory memory_;
  Stream stream_;
  Buffer<float> sum_;
  std::vector<Attenuation> attenuation_;
  std::int64_t count_ = 0;
  std::vector<float> voxels_;
};

}  // namespace

Sensitivity sensitivity_of_lines(const RecordedLines& lines, const ProjectorRanks& projectors, const MuMaps& mu,
                                 Stream stream, const SensitivityProgress& progress) {
  constexpr std::int64_t lines_at_a_time = 1 << 20;
  const Grid& grid = projectors.first.grid();
  RankWorkers<LinesOfRank> ranks(projectors, [&](ListModeProjector& projector) {
    return std::make_unique<LinesOfRank>(projector, mu, &projector == &projectors.first ? stream : nullptr);
  });
  std::vector<double> sum(static_cast<std::size_t>(grid.voxels()));
  Sensitivity result{.pairs = lines.size()};
  const auto begin_of = [&](std::int64_t batch) { return std::min(batch * lines_at_a_time, lines.size()); };
  for (std::int64_t first = 0; begin_of(first) < lines.size(); first += ranks.size()) {
    int taken = 1;
    while (taken < ranks.size() && begin_of(first + taken) < lines.size()) ++taken;
    ranks.side_by_side(
        taken, [&](int rank, LinesOfRank& r) { r.project(lines, begin_of(first + rank), begin_of(first + rank + 1)); });
    for (int rank = 0; rank < taken; ++rank) {
      const LinesOfRank& r = ranks[rank];
      // In double on the host, so that many batches add up as few do.
      if (r.count() > 0)
        for (std::size_t v = 0; v < sum.size(); ++v) sum[v] += static_cast<double>(r.voxels()[v]);
      result.drawn += r.count();
      result.projected += r.count();
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
