// Payloads to and from Python: see exchange.hpp.
#include "gadgets/python/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include "kernels/types/scanner.hpp"

namespace tofstream {

namespace {

constexpr std::size_t alignment = 64;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Calls visit(name, array) for each of the batch's per-event arrays, as Python names them.
template <class Batch, class Visit>
void for_each_named(Batch& batch, Visit&& visit) {
  constexpr const char* names[] = {
      "detector1",    "detector2",      "x1",       "y1",     "z1", "x2", "y2", "z2", "tof_mm",
      "tof_width_mm", "multiplicative", "additive", "arrival"};
  std::size_t index = 0;
  for_each_array(batch, [&](auto& array) { visit(names[index++], array); });
}

// Copies by pieces on all cores. A piece is small enough that memcpy writes through the caches, where Python finds it.
void copy_in_pieces(std::byte* to, const void* from, std::size_t bytes) {
  constexpr std::size_t piece = 256 << 10;
  const auto* source = static_cast<const std::byte*>(from);
  tbb::parallel_for(std::size_t{0}, (bytes + piece - 1) / piece, [&](std::size_t i) {
    std::memcpy(to + i * piece, source + i * piece, std::min(piece, bytes - i * piece));
  });
}

// Puts arrays where Python sees them: collects what has to be copied, then copies it into one block.
class Placing {
 public:
  Placing(SharedArena& arena, Offer& offer) : arena_(arena), offer_(offer) {}

  void add(const char* name, const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    if (arena_.contains(data, bytes)) {
      offer_.lease.ranges.push_back({name, arena_.offset_of(data), bytes});
      offer_.lease.is_payload = true;
    } else {
      copies_.push_back({name, data, bytes});
      total_ += aligned(bytes);
    }
  }
  void finish() {
    if (copies_.empty()) return;
    const auto block = arena_.allocate(total_);
    std::size_t at = 0;
    for (const Copy& copy : copies_) {
      copy_in_pieces(block->data + at, copy.data, copy.bytes);
      offer_.lease.ranges.push_back({copy.name, block->offset + at, copy.bytes});
      at += aligned(copy.bytes);
    }
    offer_.lease.owners.push_back(block);
  }
  PythonJson ranges() const {
    PythonJson all = PythonJson::object();
    for (const NamedRange& range : offer_.lease.ranges) all[range.name] = range.offset;
    return all;
  }

 private:
  struct Copy {
    const char* name;
    const void* data;
    std::size_t bytes;
  };
  SharedArena& arena_;
  Offer& offer_;
  std::vector<Copy> copies_;
  std::size_t total_ = 0;
};

PythonJson triple(const Vec3& v) {
  return {v.x, v.y, v.z};
}

// The detectors' centres, once a table: four floats a detector, of which the last is unused.
PythonJson positions_of(const DetectorTable& table, SharedArena& arena, ExchangeMemory& memory) {
  const auto bytes = static_cast<std::size_t>(table.size()) * sizeof(Detector);
  if (!memory.positions || memory.detectors.get() != &table) {
    auto block = arena.allocate(bytes);
    std::memcpy(block->data, table.on(Memory::host), bytes);
    memory.positions = std::move(block);
  }
  return {{"offset", memory.positions->offset}, {"count", table.size()}};
}

// True where one of the values is bad. Written without a branch, so that the compiler makes vectors of it.
template <class T, class Bad>
bool any(const T* values, std::int64_t count, Bad bad) {
  const auto in = [values, bad](const tbb::blocked_range<std::int64_t>& part, std::uint32_t found) {
    for (std::int64_t i = part.begin(); i < part.end(); ++i) found |= bad(values[i]) ? 1U : 0U;
    return found;
  };
  constexpr std::int64_t grain = 1 << 17;
  return tbb::parallel_reduce(tbb::blocked_range<std::int64_t>(0, count, grain), 0U, in, std::bit_or<>{}) != 0;
}

// NaN and infinity have all bits of the exponent set. An object, so that the loop above takes it in: a call an event
// would cost three memory copies.
constexpr auto is_not_finite = [](float value) {
  constexpr std::uint32_t exponent = 0x7f800000;
  return (std::bit_cast<std::uint32_t>(value) & exponent) == exponent;
};

void check_finite(const char* name, const Buffer<float>& array, const std::string& where) {
  if (!any(array.data(), array.size(), is_not_finite)) return;
  std::int64_t i = 0;
  while (!is_not_finite(array[i])) ++i;
  throw std::runtime_error(fmt::format("{} gave {} in {}[{}]: only finite numbers go on", where,
                                       std::isnan(array[i]) ? "NaN" : "infinity", name, i));
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

// The array at a place of the arena, without a copy.
template <class T>
Buffer<T> adopt(const PythonJson& place, std::int64_t count, PythonSession& session, bool& is_shared) {
  const auto offset = place.get<std::size_t>();
  if (offset % alignof(T) != 0 || count > static_cast<std::int64_t>(session.arena().size() / sizeof(T)))
    throw std::runtime_error(fmt::format("{} gave memory that is not its own", session.where()));
  RangeOwner found = session.owner_of(offset, static_cast<std::size_t>(count) * sizeof(T));
  is_shared = is_shared || found.is_shared;
  return Buffer<T>::adopt(reinterpret_cast<T*>(session.arena().data() + offset), count, std::move(found.owner));
}

// True where the array is the one that was lent last under the same name: it needs no check.
template <class T>
bool is_unchanged(const char* name, const Buffer<T>& array, PythonSession& session) {
  const Lease* lease = session.current();
  if (!lease || array.empty()) return array.empty();
  const std::size_t offset = session.arena().offset_of(array.data());
  for (const NamedRange& range : lease->ranges)
    if (range.name == name) return offset >= range.offset && offset + array.bytes() <= range.offset + range.bytes;
  return false;
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
  memory.filtered = estimate->filtered;
  return result;
}

Accepted<EventBatch> accept(const PythonJson& header, PythonSession& session, const ExchangeMemory& memory,
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
    else if (std::string_view(name) != "arrival")
      check_detectors(name, array, batch.detectors.get(), session.where());
  });
  return result;
}

Accepted<Estimate> accept(const PythonJson& header, PythonSession& session, const ExchangeMemory& memory,
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
  result.payload.filtered = memory.filtered;
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
