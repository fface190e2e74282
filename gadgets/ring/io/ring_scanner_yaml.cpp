// Scanners from YAML: see ring_scanner_yaml.hpp.
#include "gadgets/ring/io/ring_scanner_yaml.hpp"

#include <stdexcept>

#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/io/yaml/yaml_object.hpp"

namespace tofstream::formats {
namespace {

constexpr double longest_mm = 1e4;
constexpr int most = 4096;

void read_modules(YamlObject modules, RingScanner& ring) {
  ring.modules_transaxial = modules.integer("transaxial", 6, most);
  ring.modules_axial = modules.integer("axial", 1, most);
  if (ring.modules_axial > 1) ring.module_pitch_axial_mm = modules.number("pitch_axial_mm", 1e-3, longest_mm);
  modules.finish();
}

void read_crystals(YamlObject crystals, RingScanner& ring) {
  ring.crystals_transaxial = crystals.integer("transaxial", 1, most);
  ring.crystals_axial = crystals.integer("axial", 1, most);
  const auto size = crystals.numbers("size_mm", 2);
  ring.crystal_transaxial_mm = size[0];
  ring.crystal_axial_mm = size[1];
  const auto pitch = crystals.numbers("pitch_mm", 2);
  ring.pitch_transaxial_mm = pitch[0];
  ring.pitch_axial_mm = pitch[1];
  ring.layers.clear();
  for (const YAML::Node& node : crystals.list("layers")) {
    YamlObject layer(node, crystals.file(), "a layer of crystals");
    ring.layers.push_back({layer.number("depth_mm", 1e-3, longest_mm), layer.number("attenuation_per_cm", 1e-3, 100)});
    layer.finish();
  }
  crystals.finish();
}

void read_coincidence(YamlObject pairs, RingScanner& ring) {
  ring.coincidence_window_ns = pairs.number("window_ns", 1e-3, 1e3);
  ring.min_sector_difference = pairs.integer("min_sector_difference", 1, most);
  ring.max_module_ring_difference = pairs.integer("max_module_ring_difference", 0, most, ring.modules_axial - 1);
  pairs.finish();
}

void read_tof(YamlObject tof, RingScanner& ring) {
  ring.tof_fwhm_ps = tof.number("fwhm_ps", 1e-3, 1e5);
  ring.tof_bins = tof.integer("bins", 0, 65536, 0);
  if (ring.tof_bins > 0) ring.tof_bin_ps = tof.number("bin_ps", 1e-3, 1e6);
  tof.finish();
}

void read_energy(YamlObject energy, RingScanner& ring) {
  ring.energy_low_keV = energy.number("low_keV", 0, 5000);
  ring.energy_high_keV = energy.number("high_keV", 0, 5000);
  ring.energy_resolution = energy.number("resolution", 1e-4, 2);
  energy.finish();
}

}  // namespace

RingScanner parse_ring_scanner(const std::string& text, const std::string& file) {
  const YAML::Node node = parse_yaml(text, file);
  refuse_other_kinds(node, file, "crystals");
  YamlObject root(node, file, "a scanner");
  RingScanner ring;
  ring.name = root.text("name");
  root.text("description", "");
  ring.inner_radius_mm = root.number("inner_radius_mm", 1, longest_mm);
  ring.fov_radius_mm = root.number("fov_radius_mm", 0, longest_mm, 0.75 * ring.inner_radius_mm);
  read_modules(root.object("modules"), ring);
  read_crystals(root.object("crystals"), ring);
  read_coincidence(root.object("coincidence"), ring);
  if (root.has("tof")) read_tof(root.object("tof"), ring);
  if (root.has("energy")) read_energy(root.object("energy"), ring);
  root.finish();
  try {
    validate(ring);
  } catch (const std::invalid_argument& error) {
    root.fail(error.what());
  }
  return ring;
}

RingScanner read_ring_scanner(const std::filesystem::path& file) {
  return parse_ring_scanner(read_text(file), file.string());
}

}  // namespace tofstream::formats
