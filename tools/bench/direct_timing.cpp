// Times of DIRECT's operators: see direct_timing.hpp.
#include "tools/bench/direct_timing.hpp"

#include <numeric>
#include <utility>

#include "kernels/em/em_update.hpp"
#include "kernels/em/ramla_update.hpp"
#include "tools/bench/bench_projecting.hpp"

namespace tofstream::command {
namespace {

struct TimedDirect {
  std::shared_ptr<const ViewSet> set;
  std::unique_ptr<ViewProjector> projector;
  std::vector<int> views;
};

TimedDirect made_of(const DirectTimed& timed, Backend backend) {
  TimedDirect made;
  made.set = std::make_shared<const ViewSet>(direct_view_set(timed.grid, timed.directions, timed.settings.lattice));
  made.projector = timed.form == OneStageForm::automatic
                       ? make_direct_projector(timed.grid, *made.set, timed.settings, backend)
                       : make_one_stage_cuda(timed.grid, *made.set, timed.settings, timed.form);
  made.views = timed.views;
  if (made.views.empty()) {
    made.views.resize(made.set->places.size());
    std::iota(made.views.begin(), made.views.end(), 0);
  }
  return made;
}

/// Histo-images of a smooth image, in the projector's memory.
ViewBatch histo_of(const TimedDirect& of, const std::vector<int>& numbers) {
  ViewProjector& projector = *of.projector;
  ViewBatch batch{.set = of.set};
  for (const int number : numbers) batch.records.push_back({.view = number});
  batch.count = of.set->pixels() * static_cast<std::int64_t>(numbers.size());
  batch.weigh(1);
  const Memory memory = memory_of(projector.backend());
  const ViewBatch there = batch.to(memory);
  const Image truth = smooth_image(projector.grid()).to(memory);
  Buffer<float> counts(memory, batch.count);
  projector.forward(there.view(), truth.voxels.data(), counts.data());
  ViewBatch made = batch.to(memory);
  made.counts = std::move(counts);
  synchronize(nullptr);
  return made;
}

}  // namespace

double forward_ms(const DirectTimed& timed, Backend backend, int repeats) {
  const TimedDirect of = made_of(timed, backend);
  const ViewBatch batch = histo_of(of, of.views);
  const Image image = smooth_image(timed.grid).to(memory_of(backend));
  Buffer<float> expectation(memory_of(backend), batch.count);
  return median_ms(backend, repeats,
                   [&] { of.projector->forward(batch.view(), image.voxels.data(), expectation.data()); });
}

double back_ms(const DirectTimed& timed, Backend backend, int repeats) {
  const TimedDirect of = made_of(timed, backend);
  const ViewBatch batch = histo_of(of, of.views);
  Image sum = Image::zeros(timed.grid, memory_of(backend));
  return median_ms(backend, repeats, [&] { of.projector->back(batch.view(), batch.counts.data(), sum.voxels.data()); });
}

double iteration_ms(const DirectTimed& timed, Backend backend, int repeats) {
  const TimedDirect of = made_of(timed, backend);
  const Memory memory = memory_of(backend);
  std::vector<ViewBatch> blocks;
  std::vector<Image> sensitivities, inverses;
  std::vector<float> largest;
  for (const int view : of.views) {
    blocks.push_back(histo_of(of, {view}));
    Image& sensitivity = sensitivities.emplace_back(Image::zeros(timed.grid, memory));
    of.projector->add_sensitivity(blocks.back().view(), sensitivity.voxels.data());
    inverses.push_back(inverse_sensitivity(sensitivity));
    largest.push_back(largest_sensitivity(sensitivity));
  }
  Image estimate = Image::filled(timed.grid, 1, memory), sum = Image::zeros(timed.grid, memory);
  return median_ms(backend, repeats, [&] {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      sum.voxels.clear();
      of.projector->em_step(blocks[b].view(), estimate.voxels.data(), sum.voxels.data());
      ramla_update(estimate, {sensitivities[b], inverses[b], sum, largest[b]}, 0.5);
    }
  });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
