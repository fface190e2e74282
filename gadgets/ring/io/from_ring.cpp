// A ring scanner as a PETSIRD header: see from_ring.hpp.
#include "gadgets/ring/io/from_ring.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/closed_form.hpp"
#include "gadgets/io/petsird/materials.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::petsird {

namespace {

constexpr std::uint32_t crystal_material = 1;

// A module has one box, and so one material: for different layers, their mean by depth.
BulkMaterial material_of(const RingScanner& ring) {
  double free_paths = 0;
  for (const CrystalLayer& layer : ring.layers) free_paths += 0.1 * layer.attenuation_per_cm * layer.depth_mm;
  return scintillator(crystal_material, free_paths / ring.depth_mm());
}

std::vector<float> floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

Replicated<DetectorModule> modules_of(const RingScanner& ring) {
  const RingGeometry geometry = ring_geometry(ring);
  Replicated<DetectorModule> modules;
  BoxShape& box = modules.object.detecting_elements.object.shape;
  for (std::size_t corner = 0; corner < box.size(); ++corner) {
    const Vec3 c = geometry.crystal_corners[corner];
    box[corner] = {c.x, c.y, c.z};
  }
  modules.object.detecting_elements.object.material_id = crystal_material;
  modules.object.detecting_elements.transforms.assign(geometry.element_transforms.begin(),
                                                      geometry.element_transforms.end());
  modules.transforms.assign(geometry.module_transforms.begin(), geometry.module_transforms.end());
  return modules;
}

// Which pairs of modules are in coincidence, as the lower triangle that the standard keeps, and the class of each pair.
Table<std::int32_t> module_pairs(const Scanner& scanner) {
  const std::uint32_t modules = scanner.modules();
  Table<std::int32_t> lower(modules);
  for (std::uint32_t m1 = 0; m1 < modules; ++m1)
    lower[m1].assign(scanner.module_pair.begin() + static_cast<std::ptrdiff_t>(std::size_t{m1} * modules),
                     scanner.module_pair.begin() + static_cast<std::ptrdiff_t>(std::size_t{m1} * modules + m1 + 1));
  return lower;
}

std::vector<ModulePairEfficiencies> pair_efficiencies(const Scanner& scanner) {
  std::vector<ModulePairEfficiencies> all;
  for (const ModulePairTable& table : scanner.pair_tables) {
    ModulePairEfficiencies pair{.values = {}, .sgid = static_cast<std::int32_t>(all.size())};
    for (auto row = table.values.begin(); row != table.values.end(); row += table.columns)
      pair.values.emplace_back(row, row + table.columns);
    all.push_back(std::move(pair));
  }
  return all;
}

// A module has one box and one material, so a header tells the depths of layers that are alike only.
bool layers_are_alike(const RingScanner& ring) {
  return std::ranges::all_of(ring.layers, [&](const CrystalLayer& layer) {
    return layer.depth_mm == ring.layers.front().depth_mm &&
           layer.attenuation_per_cm == ring.layers.front().attenuation_per_cm;
  });
}

void add_efficiencies(const RingScanner& ring, std::size_t most_table_bytes, ScannerHeader& result) {
  const auto tabulated = with_efficiency_tables(ring, most_table_bytes);
  const auto scanner = tabulated ? tabulated : make_scanner(ring);
  DetectionEfficiencies& efficiencies = result.header.scanner.efficiencies;
  result.has_efficiencies = tabulated || layers_are_alike(ring);
  efficiencies.method_description = result.has_efficiencies
                                        ? fmt::format("closed-form geometry of the simulated scanner{}{}",
                                                      tabulated ? "" : closed_form_words, absolute_scale_words)
                                        : "left out: the tables of pair efficiencies would be too large";
  if (!scanner->bin_efficiency.empty()) efficiencies.detection_bin_efficiencies = {scanner->bin_efficiency};
  efficiencies.module_pair_sgid_lut = {{module_pairs(*scanner)}};
  if (!tabulated) return;
  efficiencies.calibration_factor = scanner->calibration;
  efficiencies.module_pair_efficiencies = {{pair_efficiencies(*scanner)}};
}

}  // namespace

ScannerHeader header_of(const RingScanner& ring, std::size_t most_table_bytes) {
  if (ring.tof_fwhm_ps > 0 && ring.tof_bins == 0)
    throw std::invalid_argument(
        fmt::format("scanner {} has ToF without bins, which PETSIRD cannot hold: give it tof_bins", ring.name));
  ScannerHeader result;
  ScannerInformation& info = result.header.scanner;
  info.model_name = ring.name;
  info.collimator_type = "NONE";
  info.geometry.replicated_modules.push_back(modules_of(ring));
  info.bulk_materials.push_back(material_of(ring));
  info.tof_bin_edges_mm = {{floats(ring.tof_bin_edges_mm())}};
  // Without ToF the resolution is that of the one bin: the whole window.
  info.tof_resolution_fwhm_mm = {
      {static_cast<float>(ring.tof_fwhm_ps > 0 ? ring.tof_sigma_mm() * fwhm_per_sigma : 2 * ring.tof_window_mm())}};
  info.event_energy_bin_edges_keV = {
      {static_cast<float>(ring.energy_low_keV), static_cast<float>(ring.energy_high_keV)}};
  info.energy_resolution_at_511 = {static_cast<float>(ring.energy_resolution)};
  add_efficiencies(ring, most_table_bytes, result);
  return result;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
