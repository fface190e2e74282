// Operators of list-mode events: see operator.hpp.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/make_projector.hpp"
#include "tools/c/operator.hpp"

namespace tofstream::c_api {
namespace {

// What parts of one operator share; a projector serves one call at a time.
struct SharedProjector {
  std::shared_ptr<const Scanner> scanner;
  std::shared_ptr<ListModeProjector> projector;
  std::mutex mutex;
};

class EventOperator final : public Operator {
 public:
  EventOperator(std::shared_ptr<SharedProjector> shared, const EventView& events, std::int64_t first)
      : shared_(std::move(shared)), events_(events), first_(first) {}

  const Grid& grid() const override { return shared_->projector->grid(); }
  Backend backend() const override { return shared_->projector->backend(); }
  std::array<std::int64_t, 3> data_shape() const override { return {events_.count, 1, 1}; }
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
    if (y) throw Wrong("y is given, and an event counts once: let it be null");
    if (multiplicative) throw Wrong("multiplicative is given: in list mode it cancels, and additive is divided by it");
    const std::lock_guard lock(shared_->mutex);
    EventView events = events_;
    events.additive = additive;
    return projector().planned_em_step(plan_.get(), events, image, accumulator, stream).skipped;
  }
  void add_sensitivity(const float* /*multiplicative*/, float* /*image*/, Stream /*stream*/) override {
    throw Wrong("events have no sensitivity of their own: it is that of all lines that their scanner records");
  }
  std::unique_ptr<Operator> part(int part, int parts) const override {
    const std::int64_t begin = events_.count * part / parts, end = events_.count * (part + 1) / parts;
    return std::make_unique<EventOperator>(shared_, events_.slice(begin, end - begin), first_ + begin);
  }

 private:
  ListModeProjector& projector() { return *shared_->projector; }

  const std::shared_ptr<SharedProjector> shared_;
  const EventView events_;
  const std::int64_t first_;
  std::unique_ptr<ProjectionPlan> plan_;
};

std::shared_ptr<const Scanner> scanner_of(const char* name) {
  if (!name || !*name) {
    auto none = std::make_shared<Scanner>();
    none->detectors = std::make_shared<const DetectorTable>(std::span<const Vec3>());
    return none;
  }
  return petsird::to_scanner(formats::petsird_header_of(find_shared("scanners", name), 0).header.scanner);
}

// The values on the host, copied where they lie on a device.
template <class T>
std::vector<T> on_host_of(const T* values, std::int64_t count, Memory memory) {
  std::vector<T> host(static_cast<std::size_t>(count));
  detail::copy(host.data(), Memory::host, values, memory, host.size() * sizeof(T), nullptr);
  synchronize(nullptr);
  return host;
}

void check_floats(const float* values, std::int64_t count, Memory memory, const char* argument) {
  if (!values) return;
  const auto host = on_host_of(values, count, memory);
  const auto bad = std::ranges::find_if_not(host, [](float value) { return std::isfinite(value); });
  if (bad != host.end())
    throw Wrong(fmt::format("events.{}[{}] is {}: only finite numbers are taken", argument, bad - host.begin(), *bad));
}

void check_detectors(const std::uint32_t* values, std::int64_t count, Memory memory, std::int64_t detectors,
                     const char* argument) {
  const auto host = on_host_of(values, count, memory);
  const auto bad = std::ranges::find_if(host, [&](std::uint32_t value) { return value >= detectors; });
  if (bad != host.end())
    throw Wrong(fmt::format("events.{}[{}] is {}, and the scanner has {} detectors (from 0)", argument,
                            bad - host.begin(), *bad, detectors));
}

TofModel tof_of(const tof_events& events, const Scanner& scanner) {
  if (!events.tof_mm) return {};
  if (events.tof_sigma_mm > 0) return {.sigma_mm = events.tof_sigma_mm, .bin_width_mm = events.tof_bin_mm};
  if (scanner.tof.size() == 1) return scanner.tof.front();
  throw Wrong(scanner.tof.empty()
                  ? "events.tof_mm is given, and neither tof_sigma_mm nor a scanner says how sharp it is"
                  : "events.tof_mm is given, and the scanner's modules differ: set tof_sigma_mm and tof_bin_mm");
}

void check_arrays(const tof_events& events, const EventView& view, const Scanner& scanner, Memory memory) {
  const std::pair<const void*, const char*> pointers[] = {
      {view.detector1, "events.detector1"}, {view.detector2, "events.detector2"},
      {view.ends[0], "events.x1"},          {view.ends[1], "events.y1"},
      {view.ends[2], "events.z1"},          {view.ends[3], "events.x2"},
      {view.ends[4], "events.y2"},          {view.ends[5], "events.z2"},
      {view.tof_mm, "events.tof_mm"},       {view.tof_width_mm, "events.tof_width_mm"}};
  for (const auto& [pointer, name] : pointers) require_memory(pointer, memory == Memory::device, name);
  if (events.detector1) {
    check_detectors(events.detector1, events.count, memory, scanner.detectors->size(), "detector1");
    check_detectors(events.detector2, events.count, memory, scanner.detectors->size(), "detector2");
  }
  constexpr const char* ends[] = {"x1", "y1", "z1", "x2", "y2", "z2"};
  for (std::size_t i = 0; i < 6; ++i) check_floats(view.ends[i], events.count, memory, ends[i]);
  check_floats(events.tof_mm, events.count, memory, "tof_mm");
  check_floats(events.tof_width_mm, events.count, memory, "tof_width_mm");
}

EventView view_of(const tof_events& events, const Scanner& scanner, Memory memory) {
  if (events.count < 1) throw Wrong(fmt::format("events.count is {}: give at least one event", events.count));
  EventView view;
  view.count = events.count;
  if (events.detector1 || events.detector2) {
    if (!events.detector1 || !events.detector2) throw Wrong("events.detector1 and detector2 come together");
    if (!events.scanner || !*events.scanner)
      throw Wrong("events have detectors, and events.scanner is null: name the scanner");
    view.detector1 = events.detector1;
    view.detector2 = events.detector2;
    view.detectors = scanner.detectors->on(memory);
  } else {
    const float* const ends[] = {events.x1, events.y1, events.z1, events.x2, events.y2, events.z2};
    if (std::ranges::find(ends, nullptr) != std::end(ends))
      throw Wrong("events need detector1 and detector2, or all of x1 y1 z1 x2 y2 z2");
    std::ranges::copy(ends, view.ends);
  }
  view.tof_mm = events.tof_mm;
  view.tof_width_mm = events.tof_width_mm;
  view.tof = tof_of(events, scanner);
  check_arrays(events, view, scanner, memory);
  return view;
}

}  // namespace

Made operator_of_events(const char* projector, const char* parameters, const tof_grid& grid, const tof_events& events,
                        Backend backend) {
  require_size(events.size, sizeof(tof_events), "events");
  auto shared = std::make_shared<SharedProjector>();
  shared->scanner = scanner_of(events.scanner);
  const EventView view = view_of(events, *shared->scanner, memory_of(backend));
  auto made = make_projector<ListModeData>(projector, parameters, grid_of(grid, "grid"), backend, *shared->scanner);
  shared->projector = std::move(made.projector);
  return {std::make_unique<EventOperator>(std::move(shared), view, 0), std::move(made.report)};
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
