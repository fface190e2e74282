// Payloads to and from Python: see exchange.hpp.
#include "gadgets/python/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gadgets/python/exchange_arrays.hpp"
#include "kernels/types/recorded_lines.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

namespace {

/// Calls visit(name, array) for each of the batch's per-event arrays, as Python names them.
template <class Batch, class Visit>
void for_each_named(Batch& batch, Visit&& visit) {
  constexpr auto names =
      std::to_array<const char*>({"detector1", "detector2", "x1", "y1", "z1", "x2", "y2", "z2", "tof_mm",
                                  "tof_width_mm", "multiplicative", "additive", "counts", "bin", "arrival"});
  std::size_t index = 0;
  for_each_array(batch, [&](auto& array) { visit(names.at(index++), array); });
}

PythonJson triple(const Vec3& v) {
  return {v.x, v.y, v.z};
}

void check_detectors(const char* name, const Buffer<std::uint32_t>& array, const DetectorTable* table,
                     const std::string& where) {
  if (!table) throw std::runtime_error(fmt::format("{} gave {} without a scanner: give x1 to z2", where, name));
  const auto limit = static_cast<std::uint32_t>(table->size());
  if (!any(array.data(), array.size(), [limit](std::uint32_t detector) { return detector >= limit; })) return;
  std::int64_t i = 0;
  while (array[i] < limit) ++i;
  throw std::runtime_error(
      fmt::format("{} gave {}[{}] = {}, but the scanner has {} detectors (from 0)", where, name, i, array[i], limit));
}

void check_bins(const Buffer<std::uint32_t>& array, const Scanner* scanner, const std::string& where) {
  if (!scanner || !scanner->lines) return;  // nobody looks them up
  const std::int64_t bins = scanner->lines->size();
  if (any(array.data(), array.size(), [bins](std::uint32_t bin) { return bin >= bins; }))
    throw std::runtime_error(
        fmt::format("{} gave a bin that is none of the {} of the scan's histogram (from 0)", where, bins));
}

// True where every event lies where it lay in the batch that was lent last: a partition of that one is one of this.
bool keeps_places(const EventBatch& batch, PythonSession& session) {
  const Lease* lease = session.current();
  if (!lease) return false;
  std::size_t kept = 0, lent = 0;
  const auto is_place = [](std::string_view name) { return name.size() == 2 || name.starts_with("detector"); };
  for (const NamedRange& range : lease->ranges) lent += is_place(range.name) ? range.bytes : 0;
  for_each_named(batch, [&](const char* name, const auto& array) {
    if (is_place(name) && is_unchanged(name, array, session)) kept += array.bytes();
  });
  return kept > 0 && kept == lent;
}

}  // namespace

// Four floats a detector, of which the last is unused.
PythonJson positions_of(const DetectorTable& table, SharedArena& arena, ExchangeMemory& memory) {
  const auto bytes = static_cast<std::size_t>(table.size()) * sizeof(Detector);
  if (!memory.positions || memory.detectors.get() != &table) {
    auto block = arena.allocate(bytes);
    std::memcpy(block->data, table.on(Memory::host), bytes);
    memory.positions = std::move(block);
  }
  return {{"offset", memory.positions->offset}, {"count", table.size()}};
}

Offer offer(const std::shared_ptr<const EventBatch>& given, SharedArena& arena, ExchangeMemory& memory) {
  const auto batch = on_host(given->memory()) ? given : std::make_shared<const EventBatch>(given->to(Memory::host));
  if (batch != given) synchronize(nullptr);
  const EventView checked = batch->view();  // throws where arrays disagree
  Offer result;
  Placing placing(arena, result);
  for_each_named(*batch, [&](const char* name, const auto& array) { placing.add(name, array.data(), array.bytes()); });
  placing.finish();
  if (result.lease.is_payload) result.lease.owners.push_back(batch);
  result.header = {{"count", checked.count},
                   {"start_s", batch->start_s},
                   {"duration_s", batch->duration_s},
                   {"tof_sigma_mm", batch->tof.sigma_mm},
                   {"tof_bin_mm", batch->tof.bin_width_mm},
                   {"arrays", placing.ranges()}};
  if (batch->scanner) result.header["scanner"] = batch->scanner->name;
  if (batch->detectors) {
    result.header["positions"] = positions_of(*batch->detectors, arena, memory);
    result.lease.owners.push_back(memory.positions);
  }
  memory.detectors = batch->detectors;
  memory.scanner = batch->scanner;
  memory.tof = batch->tof;
  memory.exposure = batch->exposure;
  memory.live = batch->live;
  memory.pose = batch->pose;
  memory.delayed = batch->delayed;
  memory.events_quantity = batch->quantity;
  std::ranges::copy(batch->axis_begin, memory.axis_begin);
  return result;
}

Offer offer(const std::shared_ptr<const Estimate>& estimate, SharedArena& arena, ExchangeMemory& memory) {
  validate(estimate->image->grid);  // scripts know voxels
  const auto image = on_host(*estimate);
  Offer result;
  Placing placing(arena, result);
  placing.add("voxels", image->voxels.data(), image->voxels.bytes());
  placing.finish();
  if (result.lease.is_payload) result.lease.owners.push_back(image);
  const Grid& grid = image->grid;
  const UpdateStep& step = estimate->step;
  result.header = {{"size", {grid.size[0], grid.size[1], grid.size[2]}},
                   {"voxel_mm", triple(grid.voxel_mm)},
                   {"origin_mm", triple(grid.origin_mm)},
                   {"step",
                    {{"iteration", step.iteration},
                     {"iterations", step.iterations},
                     {"subset", step.subset},
                     {"subsets", step.subsets},
                     {"ends_iteration", step.ends_iteration},
                     {"last", step.last}}},
                   {"arrays", placing.ranges()}};
  memory.step = step;
  memory.image_quantity = estimate->quantity;
  memory.filters = estimate->filters;
  memory.modality = estimate->modality;
  memory.through = estimate->through;
  return result;
}

Accepted<EventBatch> accept(const PythonJson& header, PythonSession& session, ExchangeMemory& memory,
                            std::type_identity<EventBatch>) {
  Accepted<EventBatch> result;
  EventBatch& batch = result.payload;
  batch.count = header.at("count").get<std::int64_t>();
  batch.start_s = header.at("start_s").get<double>();
  batch.duration_s = header.at("duration_s").get<double>();
  const PythonJson& arrays = header.at("arrays");
  if (batch.count < 0) throw std::runtime_error(fmt::format("{} gave {} events", session.where(), batch.count));
  if (batch.count > 0)
    for_each_named(batch, [&]<class T>(const char* name, Buffer<T>& array) {
      if (const auto place = arrays.find(name); place != arrays.end())
        array = adopt<T>(*place, batch.count, session, result.is_shared);
    });
  batch.scanner = memory.scanner;
  batch.exposure = memory.exposure;
  batch.live = memory.live;
  batch.pose = memory.pose;
  batch.delayed = memory.delayed;
  batch.quantity = memory.events_quantity;
  batch.tof = header.contains("tof_sigma_mm") ? TofModel{header.at("tof_sigma_mm").get<float>(),
                                                         header.at("tof_bin_mm").get<float>(), memory.tof.window_mm}
                                              : memory.tof;
  if (arrays.contains("detector1") || !arrays.contains("x1")) batch.detectors = memory.detectors;
  if (keeps_places(batch, session)) std::ranges::copy(memory.axis_begin, batch.axis_begin);
  for_each_named(batch, [&]<class T>(const char* name, const Buffer<T>& array) {
    if (is_unchanged(name, array, session)) return;
    if constexpr (std::is_same_v<T, float>)
      check_finite(name, array, session.where());
    else if (std::string_view(name).starts_with("detector"))
      check_detectors(name, array, batch.detectors.get(), session.where());
    else if (std::string_view(name) == "bin")
      check_bins(array, batch.scanner.get(), session.where());
  });
  return result;
}

Accepted<Estimate> accept(const PythonJson& header, PythonSession& session, ExchangeMemory& memory,
                          std::type_identity<Estimate>) {
  Accepted<Estimate> result;
  Image image;
  for (std::size_t axis = 0; axis < 3; ++axis) image.grid.size[axis] = header.at("size").at(axis).get<int>();
  const auto vector = [&](const char* name) {
    const PythonJson& v = header.at(name);
    return Vec3{v.at(0).get<float>(), v.at(1).get<float>(), v.at(2).get<float>()};
  };
  image.grid.voxel_mm = vector("voxel_mm");
  image.grid.origin_mm = vector("origin_mm");
  try {
    validate(image.grid);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", session.where(), error.what()));
  }
  image.voxels = adopt<float>(header.at("arrays").at("voxels"), image.grid.voxels(), session, result.is_shared);
  if (!is_unchanged("voxels", image.voxels, session)) check_finite("voxels", image.voxels, session.where());
  result.payload = {memory.step, std::make_shared<const Image>(std::move(image)), memory.image_quantity};
  result.payload.filters = memory.filters;
  result.payload.modality = memory.modality;
  result.payload.through = memory.through;
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
