// Draws: see pair_drawing.hpp.
#include "kernels/ring/sensitivity/pair_drawing.hpp"

#include <algorithm>

#include "kernels/ring/sensitivity/pair_lattice.hpp"

namespace tofstream::detail {

namespace {

// `places`: in which each pair is looked at.
DrawingPlan make_drawing_plan(const Scanner& scanner, std::int64_t pairs, std::int64_t places,
                              const SensitivitySettings& settings, const Grid& grid) {
  constexpr int group = replicate_group;
  const DrawingPlan all{{pairs, pairs * places, 1, settings.seed}, 1};
  if (pairs * places <= settings.exact_pairs) return all;
  const ChosenLattice lattice = choose_lattice(scanner, {.most = std::min(settings.exact_pairs, settings.sampled_pairs),
                                                         .places = places,
                                                         .grid = grid,
                                                         .seed = settings.seed});
  if (lattice.sample.is_lattice())
    return {lattice.sample, lattice.sample.replicates, lattice.share_of_error, lattice.lines_for_one};
  const std::int64_t draws =
      std::min(settings.replicate_pairs, std::max<std::int64_t>(settings.sampled_pairs / group, 1));
  constexpr std::int64_t most_groups = 1 << 24;
  int most = static_cast<int>(std::min(std::min(settings.sampled_pairs, pairs) / (group * draws), most_groups)) * group;
  while (most > 0 && draws * prime_from(most) > pairs) most -= group;
  if (most == 0) return all;
  const auto replicates = static_cast<int>(prime_from(most));
  return {{pairs, draws * replicates, replicates, settings.seed}, most};
}

// A sum has one batch at least, and no more than the settings say of pairs a voxel but in small images, of which fewer
// would not fill a GPU.
std::int64_t pairs_at_a_time(const SensitivitySettings& settings, std::int64_t draws, std::int64_t voxels) {
  constexpr std::int64_t least_of_sum = 1 << 21;
  const std::int64_t of_sum =
      settings.pairs_a_voxel > 0 ? std::max(settings.pairs_a_voxel * voxels, least_of_sum) : draws;
  return std::max<std::int64_t>(std::min({settings.batch_pairs, of_sum, draws}), 1);
}

}  // namespace

PairDrawing::PairDrawing(const SensitivityWork& work, ListModeProjector& projector, Stream stream)
    : list_(work.scanner, memory_of(projector.backend()), stream),
      posed_(work.scanner, memory_of(projector.backend()), stream, work.mu.hardware != nullptr),
      plan_(work.plan
                ? *work.plan
                : make_drawing_plan(work.scanner, list_.size(), posed_.places(), work.settings, projector.grid())),
      projector_(projector),
      reach_(projector.grid(), projector.reach_mm()),
      capacity_(pairs_at_a_time(work.settings, plan_.sample.draws(), projector.grid().voxels())),
      batches_a_sum_(std::max<std::int64_t>(work.settings.pairs_a_voxel * projector.grid().voxels() / capacity_, 1)),
      batch_(capacity_, memory_of(projector.backend()), stream),
      stream_(stream) {
  if (work.mu.object) attenuation_.emplace_back(*work.mu.object, projector.backend());
  if (work.mu.hardware) hardware_.emplace_back(*work.mu.hardware, projector.backend());
}

// A part has batches from all over the list of pairs, of which few miss the image in one place and most in another:
// ranks that project a part each then take equally long.
std::int64_t PairDrawing::project(int replicate, std::int64_t part, float* sum) {
  std::int64_t lines = 0;
  for (std::int64_t batch = part; batch < batches(); batch += sums()) lines += project_batch(replicate, batch, sum);
  return lines;
}

std::int64_t PairDrawing::project_batch(int replicate, std::int64_t batch, float* sum) {
  const std::int64_t begin = batch * capacity_, end = std::min(begin + capacity_, plan_.sample.draws());
  const PosesView poses = posed_.view();
  batch_.draw({list_.view(), plan_.sample, reach_, replicate, poses}, begin, end);
  const EventView lines = batch_.events(poses.count > 0 ? poses.detectors : list_.view().detectors);
  if (lines.count == 0) return 0;
  for (const Attenuation& each : attenuation_) each.apply(lines, batch_.values(), stream_);
  for (const Attenuation& each : hardware_)
    each.apply(batch_.events(poses.count > 0 ? posed_.still() : list_.view().detectors), batch_.values(), stream_);
  projector_.back(lines, batch_.values(), sum, stream_);
  return lines.count;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
