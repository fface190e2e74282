// Scanners from YAML: see ring_scanner_yaml.hpp.
#include "gadgets/ring/io/ring_scanner_yaml.hpp"

#include <array>
#include <optional>
#include <stdexcept>

#include "gadgets/io/yaml/described_file.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"

namespace tofstream::formats {
namespace {

constexpr Limits ring_length = range(1e-3, 1e4);
constexpr Limits count = range(1, 4096);

struct RingFile {
  struct Modules {
    int transaxial = 0, axial = 0;
    std::optional<double> pitch_axial_mm;
    static constexpr auto params = describe(
        param<&Modules::transaxial>("transaxial", range(6, 4096), required, "Modules around the ring"),
        param<&Modules::axial>("axial", count, required, "Rings of modules"),
        param<&Modules::pitch_axial_mm>("pitch_axial_mm", ring_length, unit("mm"), "Between rings of modules"));
  };
  struct Layer {
    double depth_mm = 0, attenuation_per_cm = 0;
    static constexpr auto params =
        describe(param<&Layer::depth_mm>("depth_mm", ring_length, unit("mm"), required, "Its thickness"),
                 param<&Layer::attenuation_per_cm>("attenuation_per_cm", range(1e-3, 100), unit("1/cm"), required,
                                                   "Attenuation of its material at 511 keV"));
  };
  struct Crystals {
    int transaxial = 0, axial = 0;
    std::array<double, 2> size_mm{}, pitch_mm{};
    std::vector<Layer> layers;
    static constexpr auto params =
        describe(param<&Crystals::transaxial>("transaxial", count, required, "Crystals of a module across the axis"),
                 param<&Crystals::axial>("axial", count, required, "Crystals of a module along the axis"),
                 param<&Crystals::size_mm>("size_mm", ring_length, unit("mm"), required,
                                           "A crystal's, across the axis and along it"),
                 param<&Crystals::pitch_mm>("pitch_mm", ring_length, unit("mm"), required,
                                            "Between centres of crystals, likewise"),
                 param<&Crystals::layers>("layers", required, "Layers of crystals, from the inside out"));
  };
  struct Coincidence {
    double window_ns = 0;
    int min_sector_difference = 0;
    std::optional<int> max_module_ring_difference;
    static constexpr auto params = describe(
        param<&Coincidence::window_ns>("window_ns", range(1e-3, 1e3), unit("ns"), required, "Largest time difference"),
        param<&Coincidence::min_sector_difference>("min_sector_difference", count, required,
                                                   "Between two modules, counted around the ring"),
        param<&Coincidence::max_module_ring_difference>("max_module_ring_difference", range(0, 4096),
                                                        "Between two modules, in rings; none: all"));
  };
  struct Tof {
    double fwhm_ps = 0;
    int bins = 0;
    std::optional<double> bin_ps;
    static constexpr auto params = describe(
        param<&Tof::fwhm_ps>("fwhm_ps", range(1e-3, 1e5), unit("ps"), required, "Resolution of the time difference"),
        param<&Tof::bins>("bins", range(0, 65536), "ToF bins; 0: recorded unbinned"),
        param<&Tof::bin_ps>("bin_ps", range(1e-3, 1e6), unit("ps"), "Width of a bin, where there are bins"));
  };
  struct Energy {
    double low_keV = 0, high_keV = 0, resolution = 0;
    static constexpr auto params =
        describe(param<&Energy::low_keV>("low_keV", range(0, 5000), unit("keV"), required, "Where the window begins"),
                 param<&Energy::high_keV>("high_keV", range(0, 5000), unit("keV"), required, "Where the window ends"),
                 param<&Energy::resolution>("resolution", range(1e-4, 2), required, "FWHM / 511 keV"));
  };

  std::string name, description;
  double inner_radius_mm = 0;
  std::optional<double> fov_radius_mm;
  Modules modules;
  Crystals crystals;
  Coincidence coincidence;
  std::optional<Tof> tof;
  std::optional<Energy> energy;
  static constexpr auto params =
      describe(param<&RingFile::name>("name", required, "What the scanner is called"),
               param<&RingFile::description>("description", "For people"),
               param<&RingFile::inner_radius_mm>("inner_radius_mm", range(1, 1e4), unit("mm"), required,
                                                 "To the middle of a module's crystal face"),
               param<&RingFile::fov_radius_mm>("fov_radius_mm", range(0, 1e4), unit("mm"),
                                               "Transaxial field of view; none: 0.75 of inner_radius_mm"),
               param<&RingFile::modules>("modules", required, "How modules make up the scanner"),
               param<&RingFile::crystals>("crystals", required, "The crystals of a module"),
               param<&RingFile::coincidence>("coincidence", required, "Which pairs of detectors count"),
               param<&RingFile::tof>("tof", "Time of flight; none: the scanner has none"),
               param<&RingFile::energy>("energy", "The energy window"));
};

// Checks figures against one another.
void check(const RingFile& file, const Location& where) {
  if ((file.modules.axial > 1) != file.modules.pitch_axial_mm.has_value())
    refuse(where, "scanner.modules.pitch_axial_mm is needed where there are several rings of modules, and only there");
  if (file.tof && (file.tof->bins > 0) != file.tof->bin_ps.has_value())
    refuse(where, "scanner.tof.bin_ps is needed where there are bins, and only there");
}

RingScanner ring_of(const RingFile& file) {
  RingScanner ring;
  ring.name = file.name;
  ring.inner_radius_mm = file.inner_radius_mm;
  ring.fov_radius_mm = file.fov_radius_mm.value_or(0.75 * file.inner_radius_mm);
  ring.modules_transaxial = file.modules.transaxial;
  ring.modules_axial = file.modules.axial;
  if (file.modules.pitch_axial_mm) ring.module_pitch_axial_mm = *file.modules.pitch_axial_mm;
  ring.crystals_transaxial = file.crystals.transaxial;
  ring.crystals_axial = file.crystals.axial;
  ring.crystal_transaxial_mm = file.crystals.size_mm[0];
  ring.crystal_axial_mm = file.crystals.size_mm[1];
  ring.pitch_transaxial_mm = file.crystals.pitch_mm[0];
  ring.pitch_axial_mm = file.crystals.pitch_mm[1];
  ring.layers.clear();
  for (const RingFile::Layer& layer : file.crystals.layers)
    ring.layers.push_back({layer.depth_mm, layer.attenuation_per_cm});
  ring.coincidence_window_ns = file.coincidence.window_ns;
  ring.min_sector_difference = file.coincidence.min_sector_difference;
  ring.max_module_ring_difference = file.coincidence.max_module_ring_difference.value_or(ring.modules_axial - 1);
  if (file.tof) {
    ring.tof_fwhm_ps = file.tof->fwhm_ps;
    ring.tof_bins = file.tof->bins;
    ring.tof_bin_ps = file.tof->bin_ps.value_or(0);
  }
  if (file.energy) {
    ring.energy_low_keV = file.energy->low_keV;
    ring.energy_high_keV = file.energy->high_keV;
    ring.energy_resolution = file.energy->resolution;
  }
  return ring;
}

RingScanner ring_scanner_of(const Value& document) {
  refuse_other_kinds(document, "crystals");
  const auto file = described<RingFile>(document, "scanner");
  check(file, document.where);
  RingScanner ring = ring_of(file);
  try {
    validate(ring);
  } catch (const std::invalid_argument& error) {
    refuse(document.where, error.what());
  }
  return ring;
}

}  // namespace

RingScanner parse_ring_scanner(const std::string& text, const std::string& file) {
  return ring_scanner_of(parse_text(text, file));
}

RingScanner read_ring_scanner(const std::filesystem::path& file) {
  return ring_scanner_of(read_document(file));
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
