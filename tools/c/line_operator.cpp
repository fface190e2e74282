// Operators of lines with bins of time of flight, as sinograms have them: see operator.hpp.
#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gadgets/step/projector_kinds.hpp"
#include "kernels/project/line_bins.hpp"
#include "kernels/project/view_ratio.hpp"
#include "tools/c/event_arrays.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/make_projector.hpp"
#include "tools/c/operator.hpp"

namespace tofstream::c_api {
namespace {

struct SharedLineProjector {
  RecordedBy by;
  MadeProjector<ListModeData> made;
  std::mutex mutex;
};

class LineOperator final : public Operator {
 public:
  LineOperator(std::shared_ptr<SharedLineProjector> shared, const EventView& lines, int bins, const TofModel& tof,
               std::int64_t first)
      : shared_(std::move(shared)), lines_(lines), bins_(bins), tof_(tof), first_(first) {
    if (tof.sigma_mm > 0) made_.emplace(lines, bins, tof, memory_of(backend()));
  }

  const Grid& grid() const override { return shared_->made.projector->grid(); }
  Backend backend() const override { return shared_->made.projector->backend(); }
  std::array<std::int64_t, 4> data_shape() const override { return {lines_.count, bins_, 1, 1}; }
  int data_axes() const override { return made_ ? 2 : 1; }
  std::vector<std::int64_t> indices() const override {
    std::vector<std::int64_t> all(static_cast<std::size_t>(lines_.count));
    std::iota(all.begin(), all.end(), first_);
    return all;
  }

  void forward(const float* image, float* data, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    project(image, data, stream);
  }
  void back(const float* data, float* image, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    add(data, image, stream);
  }
  void plan(Stream /*stream*/) override {}  // the events of each stretch are made anew
  std::int64_t em_step(const float* image, const float* y, const float* multiplicative, const float* additive,
                       float* accumulator, Stream stream) override {
    if (!y) throw Wrong("counts is null: an EM step of a sinogram needs its counts");
    const std::lock_guard lock(shared_->mutex);
    Buffer<float> data(memory_of(backend()), lines_.count * bins_, stream);
    project(image, data.data(), stream);
    // One view with a pixel a bin, whose ratio is the same.
    ViewSet as_view;
    as_view.size[0] = bins_;
    as_view.size[1] = static_cast<int>(lines_.count);
    const ViewRecord record;
    view_ratio({.count = data.size(),
                .views = 1,
                .set = &as_view,
                .records = &record,
                .counts = y,
                .multiplicative = multiplicative,
                .additive = additive},
               data.data(), backend(), stream);
    add(data.data(), accumulator, stream);
    synchronize(stream);
    return -1;
  }
  void add_sensitivity(const float* multiplicative, float* image, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    add(multiplicative, image, stream);
  }
  bool is_reference() const override { return shared_->made.in_double != nullptr; }
  std::vector<double> forward(std::span<const double> image) override {
    const std::lock_guard lock(shared_->mutex);
    const auto& reference = in_double_of(shared_->made);
    std::vector<double> data;
    for_each_stretch(nullptr, [&](const EventView& events, std::int64_t /*first*/) {
      const std::vector<double> part = reference.forward(events, image);
      data.insert(data.end(), part.begin(), part.end());
    });
    return data;
  }
  std::vector<double> back(std::span<const double> data) override {
    const std::lock_guard lock(shared_->mutex);
    const auto& reference = in_double_of(shared_->made);
    std::vector<double> image(static_cast<std::size_t>(grid().voxels()), 0.0);
    for_each_stretch(nullptr, [&](const EventView& events, std::int64_t first) {
      const auto values = data.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(events.count));
      const std::vector<double> part = reference.back(events, values);
      std::ranges::transform(image, part, image.begin(), std::plus<>());
    });
    return image;
  }
  std::unique_ptr<Operator> part(int part, int parts) const override {
    const std::int64_t begin = lines_.count * part / parts, end = lines_.count * (part + 1) / parts;
    return std::make_unique<LineOperator>(shared_, lines_.slice(begin, end - begin), bins_, tof_, first_ + begin);
  }

 private:
  // Calls project(events, first datum) for stretches of lines.
  template <class Project>
  void for_each_stretch(Stream stream, Project&& project) {
    constexpr std::int64_t most_events = 1 << 20;
    const std::int64_t lines = made_ ? std::max<std::int64_t>(1, most_events / bins_) : lines_.count;
    for (std::int64_t first = 0; first < lines_.count; first += lines) {
      const std::int64_t count = std::min(lines, lines_.count - first);
      project(made_ ? made_->events(first, count, stream) : lines_.slice(first, count), first * bins_);
    }
  }
  void project(const float* image, float* data, Stream stream) {
    for_each_stretch(stream, [&](const EventView& events, std::int64_t first) {
      shared_->made.projector->forward(events, image, data + first, stream);
    });
  }
  // `data` null: ones.
  void add(const float* data, float* image, Stream stream) {
    for_each_stretch(stream, [&](const EventView& events, std::int64_t first) {
      shared_->made.projector->back(events, data ? data + first : nullptr, image, stream);
    });
  }

  const std::shared_ptr<SharedLineProjector> shared_;
  const EventView lines_;
  const int bins_;
  const TofModel tof_;
  const std::int64_t first_;
  std::optional<LineBins> made_;  // none: without time of flight
};

TofModel tof_of_bins(const tof_events& lines, std::int32_t bins) {
  if (bins == 0) return {};
  constexpr std::int32_t most_bins = 10'000;
  if (bins < 0 || bins > most_bins) throw Wrong(fmt::format("bins is {}: it must be in [0, {}]", bins, most_bins));
  if (!(lines.tof_sigma_mm > 0) || !(lines.tof_bin_mm > 0))
    throw Wrong(fmt::format("lines.tof_sigma_mm and tof_bin_mm are {} and {}: bins need both", lines.tof_sigma_mm,
                            lines.tof_bin_mm));
  return {.sigma_mm = lines.tof_sigma_mm, .bin_width_mm = lines.tof_bin_mm};
}

}  // namespace

Made operator_of_lines(const char* projector, const char* parameters, const tof_grid& grid, const tof_events& given,
                       std::int32_t bins, Processor on) {
  const tof_events lines = events_of(given);
  if (lines.tof_mm || lines.tof_width_mm) throw Wrong("lines.tof_mm is given: a sinogram's lines have bins");
  if (lines.multiplicative || lines.additive)
    throw Wrong("lines.multiplicative or additive is given: an operator's em_step takes them");
  const TofModel tof = tof_of_bins(lines, bins);
  auto shared = std::make_shared<SharedLineProjector>();
  shared->by = recorded_by(lines.scanner);
  const EventView view = view_of(lines, *shared->by.scanner, memory_of(on.backend));
  shared->made = make_projector<ListModeData>(projector, parameters, grid_of(grid, "grid"), on, *shared->by.scanner);
  if (bins > 0 && !shared->made.entry->more.uses_tof(shared->made.params.get()))
    throw Wrong(fmt::format("bins is {}, and tof is false: give 0 bins for lines without ToF", bins));
  std::string report = shared->made.report;
  return {std::make_unique<LineOperator>(std::move(shared), view, std::max(bins, 1), tof, 0), std::move(report)};
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
