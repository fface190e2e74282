// The constraints that the standard's model states in comments, checked before anything relies on
// them.
#include "gadgets/io/petsird/header_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tbb/parallel_for.h>

#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"

namespace tofstream::petsird {
namespace {

[[noreturn]] void fail(const std::string& field, const std::string& what) {
  throw Error(fmt::format("PETSIRD header: {} {}; correct the program that wrote it", field, what));
}

template <class Range>
bool all_finite(const Range& values) {
  bool all = true;  // of all of them, which several lanes test at once
  for (const float value : values) all &= std::isfinite(value);
  return all;
}

void check_edges(const BinEdges& edges, const std::string& field) {
  if (edges.size() < 2) fail(field, "has no bins");
  if (!all_finite(edges)) fail(field, "has an edge that is not a number");
  if (std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) != edges.end()) {
    fail(field, "does not ascend");
  }
  if (edges.size() > std::numeric_limits<std::uint32_t>::max()) fail(field, "has 2^32 bins or more");
}

/// Cuts a table over pairs of types to its lower triangle; an entry that is missing is an error.
template <class T>
void trim(Table<T>& table, std::size_t types, const std::string& field) {
  if (table.size() < types) fail(field, fmt::format("has {} rows for {} types of modules", table.size(), types));
  table.resize(types);
  for (std::size_t row = 0; row < types; ++row) {
    if (table[row].size() <= row) fail(fmt::format("{}[{}]", field, row), "is too short");
    table[row].resize(row + 1);
  }
}

void check_transforms(const std::vector<Transform>& transforms, const std::string& field) {
  if (!std::all_of(transforms.begin(), transforms.end(), all_finite<Transform>)) {
    fail(field, "has a number that is not finite");
  }
}

void check_geometry(const ScannerInformation& scanner) {
  const auto& types = scanner.geometry.replicated_modules;
  if (types.empty()) fail("scannerGeometry.replicatedModules", "is empty");
  for (std::size_t type = 0; type < types.size(); ++type) {
    const std::string field = fmt::format("scannerGeometry.replicatedModules[{}]", type);
    const auto& elements = types[type].object.detecting_elements;
    check_transforms(types[type].transforms, field + ".transforms");
    check_transforms(elements.transforms, field + ".object.detectingElements.transforms");
    if (!std::all_of(elements.object.shape.begin(), elements.object.shape.end(), all_finite<std::array<float, 3>>)) {
      fail(field + ".object.detectingElements.object", "has a number that is not finite");
    }
    if (bin_counts(scanner, type).bins() > std::numeric_limits<std::uint32_t>::max()) {
      fail(field, "has 2^32 detection bins or more");
    }
  }
  if (scanner.gantry_alignment) check_transforms({*scanner.gantry_alignment}, "gantryAlignment");
}

void check_energies(const ScannerInformation& scanner) {
  const auto& edges = scanner.event_energy_bin_edges_keV;
  if (edges.size() < module_types(scanner)) {
    fail("eventEnergyBinEdges",
         fmt::format("has {} entries for {} types of modules", edges.size(), module_types(scanner)));
  }
  for (std::size_t type = 0; type < module_types(scanner); ++type) {
    check_edges(edges[type], fmt::format("eventEnergyBinEdges[{}]", type));
  }
}

EventLayout check_tof(ScannerInformation& scanner) {
  const std::size_t types = module_types(scanner);
  EventLayout layout;
  const Table<BinEdges> as_read = scanner.tof_bin_edges_mm;
  trim(scanner.tof_bin_edges_mm, types, "tofBinEdges");
  trim(scanner.tof_resolution_fwhm_mm, types, "tofResolution");
  layout.exchange.resize(types * types);
  for (std::uint32_t type1 = 0; type1 < types; ++type1) {
    layout.bins.push_back(static_cast<std::uint32_t>(bin_counts(scanner, type1).bins()));
    for (std::uint32_t type2 = 0; type2 < as_read[type1].size() && type2 < types; ++type2) {
      const BinEdges& edges = as_read[type1][type2];
      const std::string field = fmt::format("tofBinEdges[{}][{}]", type1, type2);
      if (type2 <= type1) {
        check_edges(edges, field);
        layout.tof_bins.push_back(static_cast<std::uint32_t>(edges.size() - 1));
        if (!std::isfinite(scanner.tof_resolution_fwhm_mm[type1][type2])) {
          fail(fmt::format("tofResolution[{}][{}]", type1, type2), "is not a number");
        }
      } else if (!edges.empty()) {
        check_edges(edges, field);
        layout.exchange[type1 * types + type2] = exchanged_tof_bins(edges, scanner.tof_bin_edges_mm[type2][type1]);
      }
    }
  }
  return layout;
}

void check_lut(const Table<std::int32_t>& lut, const BinCounts& one, const BinCounts& two, bool same,
               std::size_t tables, const std::string& field) {
  if (lut.empty()) return;
  if (lut.size() != one.modules) {
    fail(field, fmt::format("has {} rows for {} modules", lut.size(), one.modules));
  }
  for (std::size_t module = 0; module < lut.size(); ++module) {
    const std::size_t needed = same ? module + 1 : two.modules;
    if (lut[module].size() < needed) fail(fmt::format("{}[{}]", field, module), "is too short");
    for (const std::int32_t sgid : lut[module]) {
      if (sgid >= 0 && static_cast<std::size_t>(sgid) >= tables) {
        fail(field, fmt::format("names symmetry group {} of {}", sgid, tables));
      }
    }
  }
}

/// Whether the numbers of each table are finite.
std::vector<char> are_finite(const std::vector<ModulePairEfficiencies>& tables) {
  std::vector<char> finite(tables.size());
  tbb::parallel_for(std::size_t{0}, tables.size(), [&](std::size_t i) {
    finite[i] = std::ranges::all_of(tables[i].values, all_finite<std::vector<float>>);
  });
  return finite;
}

void check_pair_table(const ModulePairEfficiencies& table, bool is_finite, const BinCounts& one, const BinCounts& two,
                      const std::string& field) {
  if (table.values.empty()) return;
  if (table.values.size() != one.bins_in_module()) {
    fail(field, fmt::format("has {} rows for {} bins of a module", table.values.size(), one.bins_in_module()));
  }
  for (const std::vector<float>& row : table.values) {
    if (row.size() != two.bins_in_module()) {
      fail(field, fmt::format("has a row of {} for {} bins of a module", row.size(), two.bins_in_module()));
    }
  }
  if (!is_finite) fail(field, "has a number that is not finite");
}

void check_pairs(DetectionEfficiencies& efficiencies, const ScannerInformation& scanner,
                 std::vector<std::string>& warnings) {
  auto& luts = efficiencies.module_pair_sgid_lut;
  auto& tables = efficiencies.module_pair_efficiencies;
  const std::size_t types = module_types(scanner);
  if (!luts.empty()) trim(luts, types, "modulePairSGIDLUT");
  if (!tables.empty()) trim(tables, types, "modulePairEfficienciesVectors");
  if (luts.empty() && !tables.empty()) {
    warnings.emplace_back("module pair efficiencies without modulePairSGIDLUT are not used");
  }
  for (std::size_t type1 = 0; type1 < types; ++type1) {
    for (std::size_t type2 = 0; type2 <= type1; ++type2) {
      const BinCounts one = bin_counts(scanner, type1);
      const BinCounts two = bin_counts(scanner, type2);
      if (!luts.empty()) {
        const std::size_t groups =
            tables.empty() ? std::numeric_limits<std::size_t>::max() : tables[type1][type2].size();
        check_lut(luts[type1][type2], one, two, type1 == type2, groups,
                  fmt::format("modulePairSGIDLUT[{}][{}]", type1, type2));
      }
      if (tables.empty()) continue;
      const std::vector<char> finite = are_finite(tables[type1][type2]);
      for (std::size_t i = 0; i < tables[type1][type2].size(); ++i) {
        const ModulePairEfficiencies& table = tables[type1][type2][i];
        const std::string field = fmt::format("modulePairEfficienciesVectors[{}][{}][{}]", type1, type2, i);
        check_pair_table(table, finite[i] != 0, one, two, field);
        if (table.sgid != static_cast<std::int64_t>(i)) {
          warnings.push_back(fmt::format("{} says sgid {}; its place counts", field, table.sgid));
        }
      }
    }
  }
}

/// A name that is not UTF-8 would spoil every report that it gets into.
void check_name(std::string& name, std::vector<std::string>& warnings) {
  using nlohmann::json;
  const std::string quoted = json(name).dump(-1, ' ', false, json::error_handler_t::replace);
  auto valid = json::parse(quoted).get<std::string>();
  if (valid == name) return;
  name = std::move(valid);
  warnings.emplace_back("modelName is not UTF-8; what is invalid was replaced");
}

void check_efficiencies(ScannerInformation& scanner, std::vector<std::string>& warnings) {
  DetectionEfficiencies& efficiencies = scanner.efficiencies;
  auto& singles = efficiencies.detection_bin_efficiencies;
  const std::string field = "detectionEfficiencies.detectionBinEfficiencies";
  if (!std::isfinite(efficiencies.calibration_factor)) {
    fail("detectionEfficiencies.calibrationFactor", "is not a number");
  }
  if (!singles.empty()) {
    if (singles.size() < module_types(scanner)) fail(field, "has fewer entries than types of modules");
    singles.resize(module_types(scanner));
  }
  for (std::size_t type = 0; type < singles.size(); ++type) {
    if (singles[type].size() != bin_counts(scanner, type).bins()) {
      fail(fmt::format("{}[{}]", field, type),
           fmt::format("has {} entries for {} detection bins", singles[type].size(), bin_counts(scanner, type).bins()));
    }
    if (!all_finite(singles[type])) fail(field, "has a number that is not finite");
  }
  check_pairs(efficiencies, scanner, warnings);
}

}  // namespace

EventLimits EventLayout::limits(std::uint32_t type1, std::uint32_t type2) const {
  const std::size_t types = bins.size();
  const auto tof = type1 >= type2 ? tof_bins[pair_index({type1, type2})]
                                  : static_cast<std::uint32_t>(exchange[type1 * types + type2].size());
  return {bins[type1], bins[type2], tof};
}

CheckedHeader check_header(Header& header) {
  CheckedHeader checked;
  check_name(header.scanner.model_name, checked.warnings);
  check_energies(header.scanner);
  check_geometry(header.scanner);
  checked.layout = check_tof(header.scanner);
  check_efficiencies(header.scanner, checked.warnings);
  return checked;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
