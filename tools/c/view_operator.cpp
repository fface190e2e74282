// Operators of a camera's views and of histo-images: see operator.hpp.
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/step/view_projector_kinds.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/make_projector.hpp"
#include "tools/c/operator.hpp"
#include "tools/c/view_arrays.hpp"

namespace tofstream::c_api {
namespace {

struct SharedViewProjector {
  std::shared_ptr<const ViewSet> set;
  MadeProjector<ViewData> made;
  std::mutex mutex;
};

class ViewOperator : public Operator {
 public:
  ViewOperator(std::shared_ptr<SharedViewProjector> shared, const std::vector<std::int32_t>& numbers)
      : shared_(std::move(shared)), numbers_(numbers) {
    for (const std::int32_t number : numbers_) records_.push_back({.view = number});
    index_ = Buffer<std::int32_t>::from(numbers_).to(memory_of(backend()));
    synchronize(nullptr);
  }

  const Grid& grid() const override { return projector().grid(); }
  Backend backend() const override { return projector().backend(); }
  std::array<std::int64_t, 4> data_shape() const override {
    const auto views = static_cast<std::int64_t>(numbers_.size());
    const int* const size = shared_->set->size;
    if (data_axes() == 4) return {views, size[2], size[1], size[0]};
    return {views, size[1], size[0], 1};
  }
  int data_axes() const override { return shared_->set->kind == ViewKind::histo_image ? 4 : 3; }
  std::vector<std::int64_t> indices() const override { return {numbers_.begin(), numbers_.end()}; }

  void forward(const float* image, float* data, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    projector().forward(views(), image, data, stream);
  }
  void back(const float* data, float* image, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    projector().back(views(), data, image, stream);
  }
  void plan(Stream /*stream*/) override {}  // rotation needs none
  std::int64_t em_step(const float* image, const float* y, const float* multiplicative, const float* additive,
                       float* accumulator, Stream stream) override {
    if (!y) throw Wrong("counts is null: an EM step of views needs their counts");
    const std::lock_guard lock(shared_->mutex);
    Views with = views();
    with.counts = y;
    with.multiplicative = multiplicative;
    with.additive = additive;
    projector().em_step(with, image, accumulator, stream);
    if (backend() == Backend::cuda) synchronize(stream);
    return -1;
  }
  void add_sensitivity(const float* multiplicative, float* image, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    Views with = views();
    with.multiplicative = multiplicative;
    projector().add_sensitivity(with, image, stream);
  }
  bool is_reference() const override { return shared_->made.in_double != nullptr; }
  std::vector<double> forward(std::span<const double> image) override {
    const std::lock_guard lock(shared_->mutex);
    return in_double_of(shared_->made).forward(views(), image);
  }
  std::vector<double> back(std::span<const double> data) override {
    const std::lock_guard lock(shared_->mutex);
    return in_double_of(shared_->made).back(views(), data);
  }
  std::unique_ptr<Operator> part(int part, int parts) const override {
    std::vector<std::int32_t> chosen;
    for (std::size_t i = static_cast<std::size_t>(part); i < numbers_.size(); i += static_cast<std::size_t>(parts))
      chosen.push_back(numbers_[i]);
    return std::make_unique<ViewOperator>(shared_, chosen);
  }

 private:
  ViewProjector& projector() const { return *shared_->made.projector; }
  Views views() const {
    Views views;
    views.views = static_cast<int>(records_.size());
    views.count = views.views * shared_->set->pixels();
    views.set = shared_->set.get();
    views.records = records_.data();
    views.index = index_.data();
    return views;
  }

  const std::shared_ptr<SharedViewProjector> shared_;
  const std::vector<std::int32_t> numbers_;
  std::vector<ViewRecord> records_;
  Buffer<std::int32_t> index_;
};

// An operator of all directions: only then every event has a view.
class DirectionsOperator final : public ViewOperator {
 public:
  DirectionsOperator(std::shared_ptr<SharedViewProjector> shared, const std::vector<std::int32_t>& numbers,
                     const EventDirections& directions)
      : ViewOperator(std::move(shared), numbers), directions_(directions) {}

  LaidDown deposit(const EventView& events, bool nearest, float* data, Stream stream) override {
    return event_views().lay_down(grid(), directions_, events, nearest, data, backend(), stream);
  }

  LinesOfViews terms(const Scanner& scanner, const ScannerLinesSettings& settings, float* data,
                     Stream stream) override {
    LinesOfViews lines;
    make_on_host("tof_direction_terms", data, stream, [&](float* made, Context& context) {
      lines = event_views().terms(grid(), directions_, scanner, settings, made, context);
    });
    return lines;
  }

  void randoms(const RandomsOfViews& randoms, float* data, Stream stream) override {
    make_on_host("tof_direction_randoms", data, stream, [&](float* made, Context& context) {
      event_views().randoms(grid(), directions_, randoms, made, context);
    });
  }

  static const EventViews& event_views() { return table_of<EventViews>().at("histo_images"); }

 private:
  template <class Make>
  void make_on_host(const char* name, float* data, Stream stream, Make&& make) const {
    const auto shape = data_shape();
    Buffer<float> made(Memory::host, shape[0] * shape[1] * shape[2] * shape[3]);
    GadgetRecord record(name);
    Context context(record);
    make(made.data(), context);
    detail::copy(data, memory_of(backend()), made.data(), Memory::host, made.bytes(), stream);
    synchronize(stream);
  }

  EventDirections directions_;
};

std::vector<std::int32_t> all_of(const ViewSet& set) {
  std::vector<std::int32_t> all(set.places.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

namespace {

constexpr auto* of_all_directions =
    "op has no histo-images of all directions: make it by tof_operator_of_directions, and take no part of it";

}  // namespace

LaidDown Operator::deposit(const EventView&, bool, float*, Stream) {
  throw Wrong(of_all_directions);
}

LinesOfViews Operator::terms(const Scanner&, const ScannerLinesSettings&, float*, Stream) {
  throw Wrong(of_all_directions);
}

void Operator::randoms(const RandomsOfViews&, float*, Stream) {
  throw Wrong(of_all_directions);
}

Made operator_of_views(const char* projector, const char* parameters, const tof_grid& grid, const tof_views& views,
                       Processor on) {
  auto shared = std::make_shared<SharedViewProjector>();
  shared->set = view_set_of(views);
  shared->made = make_projector<ViewData>(projector, parameters, grid_of(grid, "grid"), on, *shared->set);
  const auto all = all_of(*shared->set);
  std::string report = shared->made.report;
  return {std::make_unique<ViewOperator>(std::move(shared), all), std::move(report)};
}

Made operator_of_directions(const char* projector, const char* parameters, const tof_grid& given_grid,
                            const tof_directions& given, Processor on) {
  require_size(given.size, sizeof(tof_directions), sizeof(tof_directions), "directions");
  const Grid grid = grid_of(given_grid, "grid");
  const EventDirections directions{given.azimuths, given.tilts, given.acceptance_deg, given.on_image != 0};
  std::shared_ptr<const ViewSet> set;
  try {
    set = std::make_shared<const ViewSet>(DirectionsOperator::event_views().set_of(grid, directions));
  } catch (const std::invalid_argument& wrong) {
    throw Wrong(fmt::format("directions: {}", wrong.what()));
  }
  auto shared = std::make_shared<SharedViewProjector>();
  shared->set = std::move(set);
  shared->made = make_projector<ViewData>(projector, parameters, grid, on, *shared->set);
  const auto all = all_of(*shared->set);
  std::string report = shared->made.report;
  return {std::make_unique<DirectionsOperator>(std::move(shared), all, directions), std::move(report)};
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
