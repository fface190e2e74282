// The strip projector in CUDA: which path events take, and what the paths share.
#include <limits>
#include <optional>
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/strip_backends.hpp"
#include "kernels/strip/strip_cuda.cuh"
#include "kernels/strip/strip_device.cuh"

namespace tofstream {

namespace {

class StripCuda final : public ListModeProjector {
 public:
  StripCuda(const Grid& grid, const StripSettings& settings)
      : settings_(settings), model_{grid, settings.geometry, settings.resolution}, tally_(Memory::device, 1) {
    if (settings.form == StripForm::full) {
      angles_ = Buffer<strip::Angles>::from(strip_pixel_angles(settings.geometry, grid)).to(Memory::device);
      model_.angles = angles_.data();
    }
    if (settings.cuda_path == StripCudaPath::automatic && strip::EmOfRows::why_not(grid, settings).empty())
      rows_.emplace(grid, settings);
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  const Grid& grid() const override { return model_.grid; }
  Backend backend() const override { return Backend::cuda; }
  float reach_mm() const override { return std::numeric_limits<float>::infinity(); }
  std::optional<Image> closed_form_sensitivity() const override {
    return strip_sensitivity_image(settings_.geometry, model_.grid);
  }

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    require_strip_events(events);
    strip::queue_forward(settings_.form, model_, events, image, expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    require_strip_events(events);
    strip::queue_back(settings_.form, model_, events, values, image, stream);
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    require_strip_events(events);
    if (events.counts)
      throw std::invalid_argument("strips have no histograms on a GPU: give their events one by one, or backend: cpu");
    tally_.clear(stream);
    if (rows_) {
      rows_->queue(model_, events, image, accumulator, tally_.data(), stream);
    } else if (settings_.cuda_path == StripCudaPath::thread_per_event) {
      strip::queue_em_of_threads(settings_.form, model_, events, image, accumulator, tally_.data(), stream);
    } else {
      strip::queue_em_of_warps(settings_.form, model_, events, image, accumulator, tally_.data(), stream);
    }
    return tally_.to_vector(stream).front().on_host();
  }

 private:
  StripSettings settings_;
  strip::Model model_;
  Buffer<strip::Angles> angles_;
  std::optional<strip::EmOfRows> rows_;
  Buffer<DeviceTally> tally_;
};

}  // namespace

std::unique_ptr<ListModeProjector> make_strip_cuda(const Grid& grid, const StripSettings& settings) {
  return std::make_unique<StripCuda>(grid, settings);
}

std::string why_strips_are_slow_on_cuda(const Grid& grid, const StripSettings& settings) {
  return strip::EmOfRows::why_not(grid, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
