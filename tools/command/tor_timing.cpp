// Times of TOR projectors: see tor_timing.hpp.
#include "tools/command/tor_timing.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "kernels/analysis/compare.hpp"
#include "kernels/cuda/stopwatch.hpp"
#include "kernels/project/expectation.hpp"
#include "kernels/project/reference.hpp"
#include "kernels/project/tor/paper/iteration.hpp"
#include "kernels/project/tor/paper/paper.hpp"
#include "kernels/simulate/workloads.hpp"
#include "kernels/update/em_update.hpp"
#include "tools/command/bench_projecting.hpp"
#include "tools/command/benches.hpp"

namespace tofstream::command {

namespace {

/// 1 / sum of weights of the events themselves: with it an iteration keeps the estimate's scale.
Image inverse_of(Projector& projector, const EventView& events) {
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

std::unique_ptr<Projector> TorTiming::make(const TorSettings& settings) const {
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
  auto& paper = dynamic_cast<tor::paper::PaperProjector&>(*projector);
  const auto plan = paper.plan(events());
  const Image image = test_image(case_.grid).to(Memory::device);
  Image sum = Image::zeros(case_.grid, Memory::device);
  Buffer<float> values(Memory::device, case_.events);
  const double forward = median_ms(Backend::cuda, repeats_,
                                   [&] { paper.planned_forward(*plan, events(), image.voxels.data(), values.data()); });
  return {forward, median_ms(Backend::cuda, repeats_,
                             [&] { paper.planned_back(*plan, events(), values.data(), sum.voxels.data()); })};
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

std::int64_t TorTiming::checked_events() const {
  // The reference looks at every voxel for every event, by definition.
  constexpr std::int64_t affordable = 50'000'000;
  return std::min(case_.events, std::max<std::int64_t>(affordable / case_.grid.voxels(), 16));
}

double TorTiming::nrms(const TorSettings& settings) const {
  const auto projector = make(settings);
  const Image image = test_image(case_.grid).to(Memory::device);
  Image sum = Image::zeros(case_.grid, Memory::device);
  projector->em_step(events().slice(0, checked_events()), image.voxels.data(), sum.voxels.data());
  const Image here = sum.to(Memory::host);
  synchronize(nullptr);
  return compare(here, reference_sum()).nrms;
}

Image TorTiming::estimate(const TorSettings& settings) const {
  const auto projector = make(settings);
  Image estimate = Image::filled(case_.grid, 1, Memory::device), sum = Image::zeros(case_.grid, Memory::device);
  tor::paper::iterate({*projector, nullptr, events(), estimate, inverse_sensitivity_, sum}, true);
  Image here = estimate.to(Memory::host);
  synchronize(nullptr);
  return here;
}

const Image& TorTiming::reference_sum() const {
  if (reference_) return *reference_;
  const Image image = test_image(case_.grid);
  const std::vector<double> wide(image.voxels.data(), image.voxels.data() + image.voxels.size());
  std::vector<double> sum(wide.size(), 0.0);
  std::mutex adding;
  const std::int64_t count = checked_events();
  constexpr std::int64_t pieces = 16;
  tbb::parallel_for(std::int64_t{0}, pieces, [&](std::int64_t piece) {
    const std::int64_t begin = count * piece / pieces, end = count * (piece + 1) / pieces;
    if (begin == end) return;
    const EventView events = on_host_.view().slice(begin, end - begin);
    const auto projector = make_tor_reference(case_.grid, settings(CudaPath::automatic));
    const auto& reference = dynamic_cast<const ReferenceProjector&>(*projector);
    std::vector<double> values = reference.forward(events, wide);
    for (double& value : values) value = usable(value) ? 1 / value : 0;
    const std::vector<double> part = reference.back(events, values);
    const std::scoped_lock lock(adding);
    for (std::size_t v = 0; v < sum.size(); ++v) sum[v] += part[v];
  });
  reference_ = Image::zeros(case_.grid);
  for (std::size_t v = 0; v < sum.size(); ++v)
    reference_->voxels[static_cast<std::int64_t>(v)] = static_cast<float>(sum[v]);
  return *reference_;
}

}  // namespace tofstream::command
