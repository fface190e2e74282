// The strip projector on the CPU: per event the columns of its ellipse (contiguous in memory, and taller than its rows
// are wide), a pixel a lane, a vector of each column in a first pass and more of the tall ones in the next; a column a
// lane prepares them. Kernel values are kept from the forward to the back projection. Compiled for each instruction
// set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strip/strip_cpu.cpp"
// clang-format off: this line compiles the file for each instruction set, so it comes first
#include "kernels/math/simd_targets.hpp"
// clang-format on

#include <algorithm>
#include <limits>

#include <hwy/highway.h>

#include "kernels/project/cpu_projector.hpp"
#include "kernels/project/event_ratio.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/strip_backends.hpp"
#include "kernels/strip/strip_tracer-inl.hpp"

TOFSTREAM_LANES_BEGIN

template <StripForm form>
class StripKernel final : public CpuKernel {
 public:
  explicit StripKernel(StripSetup setup) : setup_(std::move(setup)) {}

  void forward(const EventView& events, const float* image, float* expectation) const override {
    for_each_block(events, [&](auto& block, std::int64_t begin, int n) {
      for (int e = 0; e < n; ++e) expectation[begin + e] = block[e].gather(image);
    });
  }
  void back(const EventView& events, const float* values, float* image) const override {
    for_each_block(events, [&](auto& block, std::int64_t begin, int n) {
      for (int e = 0; e < n; ++e) {
        block[e].gather(image);
        block[e].scatter(values ? values[begin + e] : 1.0f, image);
      }
    });
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator) const override {
    EventRatios ratios(events);
    for_each_block(events, [&](auto& block, std::int64_t begin, int n) {
      float expectations[block_size];
      for (int e = 0; e < n; ++e) expectations[e] = block[e].gather(image);
      for (int e = 0; e < n; ++e) {
        const float ratio = ratios.of(begin + e, expectations[e]);
        if (ratio > 0) block[e].scatter(ratio, accumulator);
      }
    });
    return ratios.tally();
  }

 private:
  static constexpr int block_size = 8;

  /// Calls visit(tracers that have prepared them, first event, count) for the events, block by block.
  template <class Visit>
  void for_each_block(const EventView& events, Visit&& visit) const {
    std::vector<StripTracer<form>> block;
    for (int e = 0; e < block_size; ++e) block.emplace_back(setup_);
    for (std::int64_t begin = 0; begin < events.count; begin += block_size) {
      const int n = static_cast<int>(std::min<std::int64_t>(block_size, events.count - begin));
      for (int e = 0; e < n; ++e) block[e].prepare(events, begin + e);
      visit(block, begin, n);
    }
  }

  StripSetup setup_;
};

std::unique_ptr<const CpuKernel> make_strip_kernel(const StripSetup& setup) {
  switch (setup.settings.form) {
    case StripForm::full:
      return std::make_unique<StripKernel<StripForm::full>>(setup);
    case StripForm::eq7:
      return std::make_unique<StripKernel<StripForm::eq7>>(setup);
    case StripForm::gaussian:
      break;
  }
  return std::make_unique<StripKernel<StripForm::gaussian>>(setup);
}

TOFSTREAM_LANES_END

#if HWY_ONCE
namespace tofstream {

HWY_EXPORT(make_strip_kernel);

namespace {

/// Around the common CPU projector, whose images here have padding.
class CpuStripProjector final : public ListModeProjector {
 public:
  CpuStripProjector(const Grid& grid, const StripSettings& settings)
      : CpuStripProjector(grid, settings, StripSetup::make(grid, settings)) {}
  CpuStripProjector(const Grid& grid, const StripSettings& settings, const StripSetup& setup)
      : geometry_(settings.geometry),
        visible_(setup.visible()),
        projector_(grid, HWY_DYNAMIC_DISPATCH(make_strip_kernel)(setup),
                   {.reach_mm = std::numeric_limits<float>::infinity(),
                    .deterministic = true,  // its images are small: it costs next to nothing
                    .image_floats = grid.voxels() + strip_padding}),
        padded_(Buffer<float>::zeros(Memory::host, grid.voxels() + strip_padding)),
        padded_sum_(Buffer<float>::zeros(Memory::host, grid.voxels() + strip_padding)) {}

  const Grid& grid() const override { return projector_.grid(); }
  Backend backend() const override { return Backend::cpu; }
  float reach_mm() const override { return projector_.reach_mm(); }

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    require_strip_events(events);
    pad(image);
    projector_.forward(events, padded_.data(), expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    require_strip_events(events);
    projector_.back(events, values, padded_sum_.data(), stream);
    add_sum(image);
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    require_strip_events(events);
    pad(image);
    const EmTally tally = projector_.em_step(events, padded_.data(), padded_sum_.data(), stream);
    add_sum(accumulator);
    return tally;
  }
  std::optional<Image> closed_form_sensitivity() const override { return strip_sensitivity_image(geometry_, grid()); }

 private:
  // What lies where no decay is seen is looked at here, so that kernels need not.
  void pad(const float* image) {
    for (std::int64_t v = 0; v < grid().voxels(); ++v)
      padded_[v] = visible_[static_cast<std::size_t>(v)] ? image[v] : 0;
  }
  void add_sum(float* image) {
    for (std::int64_t v = 0; v < grid().voxels(); ++v)
      if (visible_[static_cast<std::size_t>(v)]) image[v] += padded_sum_[v];
    std::fill_n(padded_sum_.data(), padded_sum_.size(), 0.0f);
  }

  StripGeometry geometry_;
  std::vector<bool> visible_;  // of each pixel
  CpuProjector projector_;
  Buffer<float> padded_, padded_sum_;
};

}  // namespace

std::unique_ptr<ListModeProjector> make_strip_cpu(const Grid& grid, const StripSettings& settings) {
  return std::make_unique<CpuStripProjector>(grid, settings);
}

}  // namespace tofstream
#endif
// SPDX-License-Identifier: Apache-2.0
