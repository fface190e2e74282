// Grids, scanners and batches between ranks: see packed_data.hpp.
#include "gadgets/io/wire/packed_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gadgets/io/wire/packed_lines.hpp"
#include "kernels/types/recorded_lines.hpp"

namespace tofstream::wire {

namespace {

constexpr std::int64_t most_data = std::int64_t{1} << 40;

bool is_finite(Vec3 v) {
  return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
}

/// A copy of an array, which has `count` elements or none.
template <class T>
Buffer<T> read_buffer(PackReader& from, std::int64_t count) {
  const auto read = from.array<T>();
  if (read.empty()) return {};
  if (static_cast<std::int64_t>(read.size()) != count) PackReader::refuse("arrays of a batch differ in length");
  Buffer<T> buffer(Memory::host, count);
  std::ranges::copy(read, buffer.span().begin());
  return buffer;
}

template <class T>
void write_buffer(PackWriter& to, const Buffer<T>& buffer, const std::shared_ptr<const void>& owner) {
  to.array(std::span<const T>(buffer.span()), owner);
}

template <class T>
std::vector<T> read_vector(PackReader& from) {
  const auto read = from.array<T>();
  return {read.begin(), read.end()};
}

void read_geometry(PackReader& from, Scanner& scanner) {
  scanner.name = from.text();
  if (from.value<std::uint32_t>() != 0) scanner.lines = std::make_shared<ReceivedLines>();
  scanner.detectors = unpack_detectors(from);
  scanner.types = read_vector<ModuleType>(from);
  scanner.tof = read_vector<TofModel>(from);
}

// A valid scanner is given: no pair of detectors lies beyond the table of its modules.
void require_whole_tables(const Scanner& scanner) {
  if (scanner.pair_tables.empty()) return;
  const std::uint32_t modules = scanner.modules();
  std::vector<std::size_t> sizes;  // of modules, in elements and energies
  for (const ModuleType& type : scanner.types)
    sizes.insert(sizes.end(), type.modules, std::size_t{type.elements} * type.energy_bins);
  for (std::size_t m1 = 0; m1 < modules; ++m1)
    for (std::size_t m2 = 0; m2 <= m1; ++m2) {
      const bool is_any = scanner.module_pair.empty();
      const std::int32_t number = is_any ? (m1 == m2 ? -1 : 0) : scanner.module_pair[m1 * modules + m2];
      if (number < 0) continue;
      const ModulePairTable& table = scanner.pair_tables[static_cast<std::size_t>(number)];
      if (table.columns < sizes[m2] || table.values.size() < (sizes[m1] - 1) * table.columns + sizes[m2])
        PackReader::refuse("a table of efficiencies is smaller than its modules");
    }
}

void require_below(const Buffer<std::uint32_t>& numbers, std::int64_t end) {
  if (std::ranges::any_of(numbers.span(), [&](std::uint32_t n) { return static_cast<std::int64_t>(n) >= end; }))
    PackReader::refuse("an event's detector is not in the table");
}

}  // namespace

void pack(PackWriter& to, const Grid& grid) {
  to.value(grid);
}

Grid unpack_grid(PackReader& from) {
  const auto grid = from.value<Grid>();
  if (grid.has_blobs())
    validate_basis(grid);
  else
    validate(grid);
  if (!is_finite(grid.origin_mm)) PackReader::refuse("the image lies nowhere");
  return grid;
}

void pack(PackWriter& to, const Image& image) {
  pack(to, image.grid);
  to.array(std::span<const float>(image.voxels.span()), nullptr);
}

Image unpack_image(PackReader& from) {
  const Grid grid = unpack_grid(from);
  Image image{grid, read_buffer<float>(from, grid.voxels())};
  if (image.voxels.empty()) PackReader::refuse("an image has no voxels");
  if (!std::ranges::all_of(image.voxels.span(), [](float v) { return std::isfinite(v); }))
    PackReader::refuse("a voxel is no number");
  return image;
}

void pack(PackWriter& to, const DetectorTable& table) {
  std::vector<Vec3> positions;
  positions.reserve(static_cast<std::size_t>(table.size()));
  for (std::int64_t d = 0; d < table.size(); ++d) positions.push_back(table.position(static_cast<std::uint32_t>(d)));
  to.array(std::span<const Vec3>(positions), nullptr);
}

std::shared_ptr<const DetectorTable> unpack_detectors(PackReader& from) {
  const auto positions = from.array<Vec3>();
  if (positions.empty() || positions.size() >= std::numeric_limits<std::uint32_t>::max())
    PackReader::refuse("a table has no detectors, or too many");
  if (!std::ranges::all_of(positions, is_finite)) PackReader::refuse("a detector lies nowhere");
  return std::make_shared<const DetectorTable>(positions);
}

void pack(PackWriter& to, const Scanner& scanner) {
  to.text(scanner.name);
  to.value(std::uint32_t{scanner.lines && scanner.lines->are_spread()});
  pack(to, *scanner.detectors);
  to.array(std::span<const ModuleType>(scanner.types), nullptr);
  to.array(std::span<const TofModel>(scanner.tof), nullptr);
}

std::shared_ptr<const Scanner> unpack_scanner(PackReader& from) {
  auto scanner = std::make_shared<Scanner>();
  read_geometry(from, *scanner);
  scanner->validate();
  return scanner;
}

void pack_with_efficiencies(PackWriter& to, const Scanner& scanner) {
  pack(to, scanner);
  to.value(scanner.calibration);
  to.array(std::span<const float>(scanner.bin_efficiency), nullptr);
  to.array(std::span<const std::int32_t>(scanner.module_pair), nullptr);
  to.value(std::uint64_t{scanner.pair_tables.size()});
  for (const ModulePairTable& table : scanner.pair_tables) {
    to.value(table.columns);
    to.array(std::span<const float>(table.values), nullptr);
  }
  to.array(std::span<const Vec3>(scanner.geometric.module_normals), nullptr);
  to.array(std::span<const ElementResponse>(scanner.geometric.elements), nullptr);
  to.value(std::uint8_t{scanner.live != nullptr});
  if (scanner.live) {
    to.value(scanner.live->modules);
    to.array(std::span<const float>(scanner.live->factor), nullptr);
  }
  to.value(std::uint8_t{scanner.poses != nullptr});
  if (scanner.poses) to.array(std::span<const PoseShare>(*scanner.poses), nullptr);
}

std::shared_ptr<const Scanner> unpack_scanner_with_efficiencies(PackReader& from) {
  auto scanner = std::make_shared<Scanner>();
  read_geometry(from, *scanner);
  scanner->calibration = from.value<float>();
  scanner->bin_efficiency = read_vector<float>(from);
  scanner->module_pair = read_vector<std::int32_t>(from);
  const auto tables = from.value(std::uint64_t{0}, std::uint64_t{1} << 32, "it has too many tables of efficiencies");
  for (std::uint64_t t = 0; t < tables; ++t) {
    const auto columns = from.value<std::uint32_t>();
    scanner->pair_tables.push_back({read_vector<float>(from), columns});
  }
  scanner->geometric.module_normals = read_vector<Vec3>(from);
  scanner->geometric.elements = read_vector<ElementResponse>(from);
  if (from.value<std::uint8_t>() != 0) {
    const auto modules = from.value<std::uint32_t>();
    scanner->live = std::make_shared<const LivePattern>(LivePattern{modules, read_vector<float>(from)});
  }
  if (from.value<std::uint8_t>() != 0)
    scanner->poses = std::make_shared<const PoseShares>(read_vector<PoseShare>(from));
  scanner->validate();
  require_whole_tables(*scanner);
  return scanner;
}

void pack(PackWriter& to, const ViewSet& set) {
  to.text(set.name);
  to.text(set.collimator);
  to.value(static_cast<int>(set.kind));
  for (const int size : set.size) to.value(size);
  to.value(set.pixel_mm);
  to.array(std::span<const ViewPlace>(set.places), nullptr);
  to.array(std::span<const EnergyWindow>(set.windows), nullptr);
  to.value(static_cast<std::uint8_t>(set.histo.lie_along_view));
  to.value(set.histo.centre_mm);
  to.value(set.histo.tof_sigma_mm);
  to.value(set.histo.acceptance_deg);
  to.value(set.histo.deposit_variance);
}

std::shared_ptr<const ViewSet> unpack_view_set(PackReader& from) {
  auto set = std::make_shared<ViewSet>();
  set->name = from.text();
  set->collimator = from.text();
  const auto kind = from.value(0, static_cast<int>(ViewKind::histo_image), "its kind of views is not known");
  set->kind = static_cast<ViewKind>(kind);
  for (int& size : set->size) size = from.value(1, 1 << 16, "views have no pixels, or too many");
  set->pixel_mm = from.value<Vec3>();
  const auto places = from.array<ViewPlace>();
  set->places.assign(places.begin(), places.end());
  const auto windows = from.array<EnergyWindow>();
  set->windows.assign(windows.begin(), windows.end());
  set->histo.lie_along_view = from.value<std::uint8_t>() != 0;
  set->histo.centre_mm = from.value<Vec3>();
  set->histo.tof_sigma_mm = from.value<float>();
  set->histo.acceptance_deg = from.value<float>();
  set->histo.deposit_variance = from.value<float>();
  set->validate();
  return set;
}

void pack(PackWriter& to, const std::shared_ptr<const EventBatch>& batch) {
  to.value(batch->count);
  to.value(batch->tof);
  write_buffer(to, batch->detector1, batch);
  write_buffer(to, batch->detector2, batch);
  for (const auto& end : batch->ends) write_buffer(to, end, batch);
  write_buffer(to, batch->tof_mm, batch);
  write_buffer(to, batch->tof_width_mm, batch);
  write_buffer(to, batch->multiplicative, batch);
  write_buffer(to, batch->additive, batch);
  write_buffer(to, batch->counts, batch);
  write_buffer(to, batch->bin, batch);
}

std::shared_ptr<const EventBatch> unpack_events(PackReader& from, std::shared_ptr<const DetectorTable> detectors) {
  auto batch = std::make_shared<EventBatch>();
  const auto count = from.value(std::int64_t{1}, most_data, "a batch has no events");
  batch->count = count;
  batch->detectors = std::move(detectors);
  batch->tof = from.value<TofModel>();
  batch->detector1 = read_buffer<std::uint32_t>(from, count);
  batch->detector2 = read_buffer<std::uint32_t>(from, count);
  for (auto& end : batch->ends) end = read_buffer<float>(from, count);
  batch->tof_mm = read_buffer<float>(from, count);
  batch->tof_width_mm = read_buffer<float>(from, count);
  batch->multiplicative = read_buffer<float>(from, count);
  batch->additive = read_buffer<float>(from, count);
  batch->counts = read_buffer<float>(from, count);
  batch->bin = read_buffer<std::uint32_t>(from, count);
  const auto is_missing = [](const Buffer<float>& end) { return end.empty(); };
  if (batch->detectors) {
    if (batch->detector1.empty() || batch->detector2.empty()) PackReader::refuse("events have no detectors");
    require_below(batch->detector1, batch->detectors->size());
    require_below(batch->detector2, batch->detectors->size());
  } else if (std::ranges::any_of(batch->ends, is_missing)) {
    PackReader::refuse("events have neither detectors nor ends");
  }
  return batch;
}

void pack(PackWriter& to, const std::shared_ptr<const ViewBatch>& batch) {
  to.value(batch->window);
  to.value(batch->reference_s);
  to.array(std::span<const ViewRecord>(batch->records), batch);
  write_buffer(to, batch->index, batch);
  write_buffer(to, batch->weight, batch);
  write_buffer(to, batch->counts, batch);
  write_buffer(to, batch->whole_counts, batch);
  write_buffer(to, batch->multiplicative, batch);
  write_buffer(to, batch->additive, batch);
}

std::shared_ptr<const ViewBatch> unpack_views(PackReader& from, std::shared_ptr<const ViewSet> set) {
  auto batch = std::make_shared<ViewBatch>();
  batch->window = from.value<int>();
  batch->reference_s = from.value<double>();
  const auto records = from.array<ViewRecord>();
  batch->records.assign(records.begin(), records.end());
  const auto views = static_cast<std::int64_t>(records.size());
  if (views == 0) PackReader::refuse("a batch has no views");
  batch->count = views * set->pixels();
  batch->index = read_buffer<std::int32_t>(from, views);
  batch->weight = read_buffer<float>(from, views);
  batch->counts = read_buffer<float>(from, batch->count);
  batch->whole_counts = read_buffer<std::uint16_t>(from, batch->count);
  batch->multiplicative = read_buffer<float>(from, batch->count);
  batch->additive = read_buffer<float>(from, batch->count);
  if (batch->index.empty()) PackReader::refuse("views have no numbers");
  const auto places = static_cast<std::int32_t>(set->places.size());
  for (std::int64_t v = 0; v < views; ++v)
    if (batch->index[v] != records[static_cast<std::size_t>(v)].view || batch->index[v] < 0 ||
        batch->index[v] >= places)
      PackReader::refuse("a view's number is not in its set");
  batch->set = std::move(set);
  return batch;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
