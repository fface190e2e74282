// Times and checks of the strip projector: see strip_timing.hpp.
#include "tools/bench/strip_timing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "kernels/analysis/compare.hpp"
#include "kernels/device/stopwatch.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/project/expectation.hpp"
#include "kernels/project/reference.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/simulate.hpp"
#include "kernels/strip/strip_scanner.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/bench_projecting.hpp"

namespace tofstream::command {

namespace {

constexpr int checked_iterations = 10;

/// Events of the paper's phantom as the strips measure them.
EventBatch strip_events(std::int64_t count) {
  StripSimulator simulator(make_strip_scanner("strips", {}), {},
                           formats::read_phantom(find_shared("phantoms", "jpet_strip")).phantom);
  return simulator.next_events(count);
}

/// MLEM of a batch, with projector and images made once.
class Mlem {
 public:
  Mlem(std::unique_ptr<ListModeProjector> projector, const EventView& events, const Image& sensitivity)
      : projector_(std::move(projector)),
        events_(events),
        inverse_(inverse_sensitivity(sensitivity.to(memory_of(projector_->backend())))),
        estimate_(Image::filled(sensitivity.grid, 1, memory_of(projector_->backend()))),
        sum_(Image::zeros(sensitivity.grid, memory_of(projector_->backend()))) {
    synchronize(nullptr);
  }
  void iterate() {
    sum_.voxels.clear();
    projector_->em_step(events_, estimate_.voxels.data(), sum_.voxels.data());
    em_update(estimate_, inverse_, sum_, 1);
  }
  Image estimate() const {
    Image here = estimate_.to(Memory::host);
    synchronize(nullptr);
    return here;
  }

 private:
  std::unique_ptr<ListModeProjector> projector_;
  EventView events_;
  Image inverse_, estimate_, sum_;
};

}  // namespace

Grid strip_grid(float pixel_mm) {
  const auto pixels = [&](float length_mm) { return static_cast<int>(std::ceil(length_mm / pixel_mm)); };
  return Grid::centred(1, pixels(260), pixels(300), {pixel_mm, pixel_mm, pixel_mm});
}

StripTiming::StripTiming(const Grid& grid, std::int64_t events, std::int64_t checked, int repeats, double wrong)
    : grid_(grid),
      checked_(std::min(events, checked)),
      repeats_(repeats),
      wrong_(wrong),
      on_host_(strip_events(events)),
      sensitivity_(strip_sensitivity_image({}, grid)) {}

EventView StripTiming::events(Backend backend, std::int64_t count) {
  if (backend == Backend::cuda && on_device_.count == 0) {
    on_device_ = on_host_.to(Memory::device);
    synchronize(nullptr);
  }
  return (backend == Backend::cuda ? on_device_ : on_host_).view().slice(0, count);
}

double StripTiming::iteration_ms(const StripSettings& settings, Backend backend) {
  Mlem mlem(make_strip_projector(grid_, settings, backend), events(backend, on_host_.count), sensitivity_);
  return median_ms(backend, repeats_, [&] { mlem.iterate(); });
}

double StripTiming::nrms(const StripSettings& settings, Backend backend) {
  Mlem mlem(made_wrong(make_strip_projector(grid_, settings, backend), wrong_), events(backend, checked_),
            sensitivity_);
  for (int k = 0; k < checked_iterations; ++k) mlem.iterate();
  return compare(mlem.estimate(), reference(settings)).nrms;
}

const Image& StripTiming::reference(const StripSettings& settings) {
  if (reference_form_ == settings.form) return reference_;
  const auto projector = make_strip_reference(grid_, settings);
  const auto& wide = dynamic_cast<const ReferenceProjector&>(*projector);
  const EventView events = on_host_.view().slice(0, checked_);
  const Image inverse = inverse_sensitivity(sensitivity_);
  std::vector<double> estimate(static_cast<std::size_t>(grid_.voxels()), 1.0);
  for (int k = 0; k < checked_iterations; ++k) {
    std::vector<double> ratios = wide.forward(events, estimate);
    for (double& ratio : ratios) ratio = usable(ratio) ? 1 / ratio : 0;
    const std::vector<double> sums = wide.back(events, ratios);
    for (std::size_t v = 0; v < estimate.size(); ++v)
      estimate[v] *= sums[v] * static_cast<double>(inverse.voxels[static_cast<std::int64_t>(v)]);
  }
  reference_ = Image::zeros(grid_);
  for (std::size_t v = 0; v < estimate.size(); ++v)
    reference_.voxels[static_cast<std::int64_t>(v)] = static_cast<float>(estimate[v]);
  reference_form_ = settings.form;
  return reference_;
}

StripTiming::PeerTimes StripTiming::peer(StripPeer& peer) {
  // An iteration of the original is rho <- rho A^T(1 / A(s rho)), with s in the denominator alone (001, eq. 3).
  const StripSettings settings{.form = StripForm::eq7};
  peer.prepare(grid_, settings, on_host_.view());
  const auto first_estimate = [&] {
    peer.set_image(Image::filled(grid_, 1));
    peer.iterate(0, 0);
    return peer.image(grid_);
  };
  const Image theirs = first_estimate();
  const auto projector = make_strip_projector(grid_, settings, Backend::cuda);
  const Image sensitivity = sensitivity_.to(Memory::device);
  Image sum = Image::zeros(grid_, Memory::device);
  projector->em_step(events(Backend::cuda, on_host_.count), sensitivity.voxels.data(), sum.voxels.data());
  const Image ours = sum.to(Memory::host);
  synchronize(nullptr);
  double squares = 0, differences = 0;
  for (std::int64_t v = 0; v < ours.voxels.size(); ++v) {
    const double a = static_cast<double>(ours.voxels[v]), b = static_cast<double>(theirs.voxels[v]);
    squares += a * a;
    differences += (a - b) * (a - b);
  }
  const auto ms = [&](int blocks, int threads) {
    return median_ms(Backend::cuda, repeats_, [&] { peer.iterate(blocks, threads); });
  };
  PeerTimes times{ms(0, 0), ms(528, 512), 528, 512, std::sqrt(differences / squares)};
  for (const auto& [blocks, threads] :
       {std::pair{132, 512}, std::pair{264, 512}, std::pair{1056, 256}, std::pair{1056, 512}})
    if (const double here = ms(blocks, threads); here < times.best_ms) {
      times.best_ms = here;
      times.best_blocks = blocks;
      times.best_threads = threads;
    }
  return times;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
