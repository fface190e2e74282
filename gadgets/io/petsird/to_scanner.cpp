// Flattens the tables of all module types and type pairs into those of the scanner model.
#include "gadgets/io/petsird/to_scanner.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <tbb/parallel_for.h>

#include "gadgets/io/petsird/closed_form.hpp"
#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/materials.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/ring_size.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::petsird {
namespace {

constexpr std::uint32_t most_modules_without_table = 4096;

// The size of the box about the first element of a type's first module, once both transforms have put it in its place.
Vec3 first_element_size(const Replicated<DetectorModule>& modules) {
  const auto& elements = modules.object.detecting_elements;
  if (modules.transforms.empty() || elements.transforms.empty()) return {};
  Vec3 low, high;
  for (std::size_t corner = 0; corner < elements.object.shape.size(); ++corner) {
    const auto& [x, y, z] = elements.object.shape[corner];
    const Point placed = moved_by(modules.transforms.front(), moved_by(elements.transforms.front(), {x, y, z}));
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = static_cast<float>(placed[static_cast<std::size_t>(axis)]);
      low.set(axis, corner == 0 ? at : std::min(low[axis], at));
      high.set(axis, corner == 0 ? at : std::max(high[axis], at));
    }
  }
  return high - low;
}

EnergyResponse energy_response(const ScannerInformation& source, std::size_t type) {
  EnergyResponse response;
  if (type < source.event_energy_bin_edges_keV.size() && source.event_energy_bin_edges_keV[type].size() > 1) {
    response.low_keV = source.event_energy_bin_edges_keV[type].front();
    response.high_keV = source.event_energy_bin_edges_keV[type].back();
  }
  if (type < source.energy_resolution_at_511.size()) response.resolution = source.energy_resolution_at_511[type];
  return response;
}

// Crystals are made of the first material where a header names several.
float free_paths(const ScannerInformation& source, std::size_t type) {
  if (source.bulk_materials.empty()) return 0;
  const auto per_mm = attenuation_per_mm(source.bulk_materials.front());
  return per_mm ? static_cast<float>(*per_mm * crystal_depth_mm(source, type)) : 0.0f;
}

void add_types(const ScannerInformation& source, const DetectorDepth& depth, Scanner& scanner) {
  std::vector<Vec3> positions;
  const auto points = detector_points(source, depth);
  ModuleType next;
  for (std::size_t type = 0; type < module_types(source); ++type) {
    const BinCounts counts = bin_counts(source, type);
    next.modules = counts.modules;
    next.elements = counts.elements;
    next.energy_bins = counts.energies;
    next.element_size_mm = first_element_size(source.geometry.replicated_modules[type]);
    next.energy = energy_response(source, type);
    next.free_paths = free_paths(source, type);
    scanner.types.push_back(next);
    next.first_detector += counts.modules * counts.elements;
    next.first_module += counts.modules;
    next.first_bin += counts.bins();
    for (const Point& p : points[type])
      positions.push_back({static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2])});
  }
  scanner.detectors = std::make_shared<const DetectorTable>(positions);
}

void add_tof(const ScannerInformation& source, Scanner& scanner) {
  const auto types = static_cast<std::uint32_t>(module_types(source));
  bool any = false;
  std::vector<TofModel> models;
  for (std::uint32_t type1 = 0; type1 < types; ++type1) {
    for (std::uint32_t type2 = 0; type2 < types; ++type2) {
      const BinEdges& edges = tof_edges(source, {type1, type2});
      const float fwhm = tof_resolution_fwhm_mm(source, {type1, type2});
      const bool tof = edges.size() > 2 && fwhm > 0;
      const float window = edges.back() - edges.front();
      const float mean_width = window / static_cast<float>(edges.size() - 1);
      models.push_back(tof ? TofModel{fwhm / static_cast<float>(fwhm_per_sigma), mean_width, window} : TofModel{});
      any = any || tof;
    }
  }
  if (any) scanner.tof = std::move(models);
}

ModulePairTable flat(const Table<float>& values) {
  ModulePairTable table;
  table.columns = static_cast<std::uint32_t>(values.front().size());
  table.values.reserve(values.size() * values.front().size());
  for (const std::vector<float>& row : values) {
    table.values.insert(table.values.end(), row.begin(), row.end());
  }
  return table;
}

ModulePairTable ones(const ModuleType& one, const ModuleType& two) {
  const std::uint32_t columns = two.elements * two.energy_bins;
  return {std::vector<float>(std::size_t{one.elements} * one.energy_bins * columns, 1.0F), columns};
}

/// The pairs of modules of two types: which table each has, and the tables themselves.
void add_pairs(const DetectionEfficiencies& source, TypePair types, Scanner& scanner) {
  const ModuleType& one = scanner.types[types.first];
  const ModuleType& two = scanner.types[types.second];
  const Table<std::int32_t>* lut =
      source.module_pair_sgid_lut.empty() ? nullptr : &source.module_pair_sgid_lut[types.first][types.second];
  if (lut != nullptr && lut->empty()) lut = nullptr;
  const auto first_table = static_cast<std::int32_t>(scanner.pair_tables.size());
  bool grouped = false;  // each symmetry group has a table; else one table of ones is for all
  if (!source.module_pair_efficiencies.empty()) {
    if (lut != nullptr) {
      const auto& groups = source.module_pair_efficiencies[types.first][types.second];
      grouped = !groups.empty();
      const std::size_t first = scanner.pair_tables.size();
      scanner.pair_tables.resize(first + groups.size());
      tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t i) {
        const Table<float>& values = groups[i].values;
        scanner.pair_tables[first + i] = values.empty() ? ones(one, two) : flat(values);
      });
    }
    if (!grouped) scanner.pair_tables.push_back(ones(one, two));
  }
  const std::size_t modules = scanner.modules();
  for (std::uint32_t m1 = 0; m1 < one.modules; ++m1) {
    const std::uint32_t last = types.first == types.second ? m1 + 1 : two.modules;
    for (std::uint32_t m2 = 0; m2 < last; ++m2) {
      const std::int32_t sgid = lut != nullptr ? (*lut)[m1][m2] : 0;
      const std::int32_t table = sgid < 0 ? -1 : first_table + (grouped ? sgid : 0);
      const std::size_t row = one.first_module + m1;
      const std::size_t column = two.first_module + m2;
      scanner.module_pair[row * modules + column] = table;
      scanner.module_pair[column * modules + row] = table;
    }
  }
}

// Where it is on the absolute scale its calibration factor is 1 all the same, so that the file has no scale, rather than
// a wrong one, for whoever does not know the closed form.
void add_closed_form(const ScannerInformation& source, Scanner& scanner) {
  scanner.geometric = closed_form(source);
  if (is_absolute(source.efficiencies)) scanner.calibration *= static_cast<float>(mL_per_mm3);
}

void add_efficiencies(const ScannerInformation& source, Scanner& scanner) {
  const DetectionEfficiencies& efficiencies = source.efficiencies;
  scanner.calibration = efficiencies.calibration_factor;
  if (has_closed_form(efficiencies)) add_closed_form(source, scanner);
  for (const std::vector<float>& type : efficiencies.detection_bin_efficiencies) {
    scanner.bin_efficiency.insert(scanner.bin_efficiency.end(), type.begin(), type.end());
  }
  const std::size_t modules = scanner.modules();
  if (efficiencies.module_pair_sgid_lut.empty() && modules > most_modules_without_table) return;
  scanner.module_pair.assign(modules * modules, -1);
  for (std::uint32_t type1 = 0; type1 < scanner.types.size(); ++type1) {
    for (std::uint32_t type2 = 0; type2 <= type1; ++type2) {
      add_pairs(efficiencies, {type1, type2}, scanner);
    }
  }
}

}  // namespace

std::shared_ptr<const Scanner> to_scanner(const ScannerInformation& scanner, const DetectorDepth& depth) {
  auto model = std::make_shared<Scanner>();
  model->name = scanner.model_name;
  add_types(scanner, depth, *model);
  add_tof(scanner, *model);
  add_efficiencies(scanner, *model);
  model->validate();
  return model;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
