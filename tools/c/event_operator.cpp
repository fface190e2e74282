// Operators of list-mode events: see operator.hpp.
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "gadgets/step/projector_kinds.hpp"
#include "tools/c/event_arrays.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/make_projector.hpp"
#include "tools/c/operator.hpp"

namespace tofstream::c_api {
namespace {

// What parts of one operator share; a projector serves one call at a time.
struct SharedProjector {
  RecordedBy by;
  std::shared_ptr<const NamedImages> arrays;  // that parameters name
  MadeProjector<ListModeData> made;
  std::optional<Image> sensitivity;
  std::mutex mutex;
};

class EventOperator final : public Operator {
 public:
  EventOperator(std::shared_ptr<SharedProjector> shared, const EventView& events, std::int64_t first)
      : shared_(std::move(shared)), events_(events), first_(first) {}

  const Grid& grid() const override { return shared_->made.projector->grid(); }
  Backend backend() const override { return shared_->made.projector->backend(); }
  std::array<std::int64_t, 4> data_shape() const override { return {events_.count, 1, 1, 1}; }
  int data_axes() const override { return 1; }
  std::vector<std::int64_t> indices() const override {
    std::vector<std::int64_t> all(static_cast<std::size_t>(events_.count));
    std::iota(all.begin(), all.end(), first_);
    return all;
  }

  void forward(const float* image, float* data, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    projector().planned_forward(plan_.get(), events_, image, data, stream);
  }
  void back(const float* data, float* image, Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    projector().planned_back(plan_.get(), events_, data, image, stream);
  }
  void plan(Stream stream) override {
    const std::lock_guard lock(shared_->mutex);
    plan_ = projector().plan(events_, stream);
  }
  std::int64_t em_step(const float* image, const float* y, const float* multiplicative, const float* additive,
                       float* accumulator, Stream stream) override {
    if (y) throw Wrong("counts is given, and an event counts once: let it be null");
    if (multiplicative) throw Wrong("multiplicative is given: in list mode it cancels, and additive is divided by it");
    const std::lock_guard lock(shared_->mutex);
    EventView events = events_;
    events.additive = additive;
    return projector().planned_em_step(plan_.get(), events, image, accumulator, stream).skipped;
  }
  void add_sensitivity(const float* multiplicative, float* image, Stream stream) override {
    if (multiplicative) throw Wrong("multiplicative is given: a scanner's efficiencies are in its sensitivity");
    if (!shared_->by.quantity)
      throw Wrong("events.scanner is null: the sensitivity is that of all lines that a scanner records");
    const std::lock_guard lock(shared_->mutex);
    const Image& made = sensitivity();
    detail::copy(image, memory_of(backend()), made.voxels.data(), Memory::host, made.voxels.bytes(), stream);
    synchronize(stream);
  }
  bool is_reference() const override { return shared_->made.in_double != nullptr; }
  std::vector<double> forward(std::span<const double> image) override {
    const std::lock_guard lock(shared_->mutex);
    return in_double_of(shared_->made).forward(events_, image);
  }
  std::vector<double> back(std::span<const double> data) override {
    const std::lock_guard lock(shared_->mutex);
    return in_double_of(shared_->made).back(events_, data);
  }
  std::unique_ptr<Operator> part(int part, int parts) const override {
    const std::int64_t begin = events_.count * part / parts, end = events_.count * (part + 1) / parts;
    return std::make_unique<EventOperator>(shared_, events_.slice(begin, end - begin), first_ + begin);
  }

 private:
  // The same for all parts, so it is made once.
  const Image& sensitivity() {
    SharedProjector& with = *shared_;
    if (!with.sensitivity) {
      const MemoryImages images(with.arrays);
      GadgetRecord record(with.made.entry->name);
      Context context(record);
      with.sensitivity =
          with.made.entry->more.sensitivity(with.made.params.get(), *with.by.scanner, projector(), context).image;
    }
    return *with.sensitivity;
  }

  ListModeProjector& projector() { return *shared_->made.projector; }

  const std::shared_ptr<SharedProjector> shared_;
  const EventView events_;
  const std::int64_t first_;
  std::unique_ptr<ProjectionPlan> plan_;
};

}  // namespace

Made operator_of_events(const char* projector, const char* parameters, const tof_grid& grid, const tof_events& given,
                        std::shared_ptr<const NamedImages> arrays, Processor on) {
  const tof_events events = events_of(given);
  auto shared = std::make_shared<SharedProjector>();
  shared->by = recorded_by(events.scanner);
  shared->arrays = std::move(arrays);
  EventView view = view_of(events, *shared->by.scanner, memory_of(on.backend));
  if (view.multiplicative || view.additive)
    throw Wrong("events.multiplicative or additive is given: an operator's em_step takes them");
  shared->made = make_projector<ListModeData>(projector, parameters, grid_of(grid, "grid"), on, *shared->by.scanner);
  if (!shared->made.entry->more.uses_tof(shared->made.params.get())) view.tof_mm = view.tof_width_mm = nullptr;
  std::string report = shared->made.report;
  return {std::make_unique<EventOperator>(std::move(shared), view, 0), std::move(report)};
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
