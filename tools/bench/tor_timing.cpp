// Times of TOR projectors: see tor_timing.hpp.
#include "tools/bench/tor_timing.hpp"

#include <algorithm>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "kernels/device/stopwatch.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "kernels/ring/tor/paper/iteration.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"

namespace tofstream::command {

namespace {

/// 1 / (sum of weights of the events), with which an iteration keeps the estimate's scale.
Image inverse_of(ListModeProjector& projector, const EventView& events) {
  Image sensitivity = Image::zeros(projector.grid(), memory_of(projector.backend()));
  projector.back(events, nullptr, sensitivity.voxels.data());
  return inverse_sensitivity(sensitivity);
}

}  // namespace

EventBatch tor_events(const Grid& grid, TofModel tof, std::int64_t count) {
  Workload workload = find_workload("W1");
  workload.grid = grid;
  workload.tof = tof;
  return random_lors(workload, count, 1);
}

TorTiming::TorTiming(const TorCase& c, const EventBatch& events, int repeats)
    : case_(c), on_host_(events), on_device_(events.to(Memory::device)), repeats_(repeats) {
  inverse_sensitivity_ = inverse_of(*make(settings(CudaPath::direct)), this->events());
}

TorSettings TorTiming::settings(CudaPath path, const PaperScheme& scheme) const {
  TorSettings settings = tor_settings(case_.grid, case_.tube_width_voxels, path);
  settings.paper = scheme;
  return settings;
}

std::unique_ptr<ListModeProjector> TorTiming::make(const TorSettings& settings) const {
  return make_tor_projector(case_.grid, settings, Backend::cuda);
}

double TorTiming::iteration_ms(const TorSettings& settings) const {
  const auto projector = make(settings);
  const auto plan = projector->plan(events());
  Image estimate = Image::filled(case_.grid, 1, Memory::device), sum = Image::zeros(case_.grid, Memory::device);
  return median_ms(Backend::cuda, repeats_, [&] {
    tor::paper::iterate({*projector, plan.get(), events(), estimate, inverse_sensitivity_, sum},
                        settings.paper.update_on_device);
  });
}

double TorTiming::plan_ms(const TorSettings& settings) const {
  const auto projector = make(settings);
  if (!projector->plan(events())) return 0;
  return median_ms(Backend::cuda, repeats_, [&] { (void)projector->plan(events()); });
}

TorTiming::Parts TorTiming::parts_ms(const TorSettings& settings) const {
  const auto projector = make(settings);
  const auto plan = projector->plan(events());
  const Image image = test_image(case_.grid).to(Memory::device);
  Image sum = Image::zeros(case_.grid, Memory::device);
  Buffer<float> values(Memory::device, case_.events);
  const double forward = median_ms(Backend::cuda, repeats_, [&] {
    projector->planned_forward(plan.get(), events(), image.voxels.data(), values.data());
  });
  return {forward, median_ms(Backend::cuda, repeats_,
                             [&] { projector->planned_back(plan.get(), events(), values.data(), sum.voxels.data()); })};
}

tor::paper::Collisions TorTiming::collisions(const TorSettings& settings) const {
  const auto projector = make(settings);
  auto& paper = dynamic_cast<tor::paper::PaperProjector&>(*projector);
  return paper.planned_collisions(*paper.plan(events()), events());
}

double TorTiming::one_thread_ms() const {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(1);
  return arena.execute([&] {
    const auto projector = make_tor_projector(case_.grid, settings(CudaPath::automatic), Backend::cpu);
    const Image inverse = inverse_sensitivity_.to(Memory::host);
    synchronize(nullptr);
    Image estimate = Image::filled(case_.grid, 1), sum = Image::zeros(case_.grid);
    return time_ms(Backend::cpu, 0, 1,
                   [&] {
                     tor::paper::iterate(
                         {*projector, nullptr, on_host_.view().slice(0, case_.events), estimate, inverse, sum}, true);
                   })
        .front();
  });
}

double TorTiming::nrms(const TorSettings& settings) const {
  const auto projector = make(settings);
  const Image image = test_image(case_.grid).to(Memory::device);
  Image sum = Image::zeros(case_.grid, Memory::device);
  projector->em_step(events().slice(0, checked()), image.voxels.data(), sum.voxels.data());
  return touched_nrms(sum.voxels.to_vector(), reference_sum(settings.cuda_path));
}

Image TorTiming::estimate(const TorSettings& settings) const {
  const auto projector = make(settings);
  Image estimate = Image::filled(case_.grid, 1, Memory::device), sum = Image::zeros(case_.grid, Memory::device);
  tor::paper::iterate({*projector, nullptr, events(), estimate, inverse_sensitivity_, sum}, true);
  Image here = estimate.to(Memory::host);
  synchronize(nullptr);
  return here;
}

const std::vector<double>& TorTiming::reference_sum(CudaPath path) const {
  auto& sum = path == CudaPath::paper ? paper_reference_ : reference_;
  if (sum.empty())
    sum = reference_em_step(*make_tor_reference(case_.grid, settings(path)), on_host_.view().slice(0, checked()),
                            test_image(case_.grid));
  return sum;
}

std::int64_t TorTiming::checked() const {
  return std::min(case_.events, checkable_events(true, case_.grid, checked_events));
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
