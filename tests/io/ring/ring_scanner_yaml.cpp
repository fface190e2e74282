// Rings of crystals in YAML: every shared file is complete, and every mistake is one clear line.
#include "gadgets/ring/io/ring_scanner_yaml.hpp"

#include <doctest/doctest.h>

using namespace tofstream;
using formats::parse_ring_scanner;

namespace {

const std::string small = R"(name: small
inner_radius_mm: 60
modules: {transaxial: 18, axial: 2, pitch_axial_mm: 25}
crystals:
  transaxial: 10
  axial: 11
  size_mm: [1.5, 1.6]
  pitch_mm: [1.7, 1.8]
  layers: [{depth_mm: 7, attenuation_per_cm: 0.8}, {depth_mm: 8, attenuation_per_cm: 0.7}]
coincidence: {window_ns: 5, min_sector_difference: 4, max_module_ring_difference: 0}
tof: {fwhm_ps: 300, bins: 11, bin_ps: 80}
energy: {low_keV: 350, high_keV: 650, resolution: 0.15}
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = small;
  return text.replace(text.find(from), from.size(), to);
}

void refused_ring(const std::string& text, const std::string& message) {
  CHECK_THROWS_WITH_AS(parse_ring_scanner(text, "small.yaml"), doctest::Contains(message.c_str()), std::runtime_error);
}

}  // namespace

TEST_CASE("every figure of a scanner is read") {
  const RingScanner ring = parse_ring_scanner(small, "small.yaml");
  CHECK(ring.name == "small");
  CHECK(ring.inner_radius_mm == 60);
  CHECK(ring.fov_radius_mm == 45);
  CHECK(ring.modules() == 36);
  CHECK(ring.module_pitch_axial_mm == 25);
  CHECK(ring.crystals_transaxial == 10);
  CHECK(ring.crystals_axial == 11);
  CHECK(ring.crystal_transaxial_mm == 1.5);
  CHECK(ring.crystal_axial_mm == 1.6);
  CHECK(ring.pitch_transaxial_mm == 1.7);
  CHECK(ring.pitch_axial_mm == 1.8);
  REQUIRE(ring.layers.size() == 2);
  CHECK(ring.layers[1].depth_mm == 8);
  CHECK(ring.layers[1].attenuation_per_cm == 0.7);
  CHECK(ring.coincidence_window_ns == 5);
  CHECK(ring.min_sector_difference == 4);
  CHECK(ring.max_module_ring_difference == 0);
  CHECK(ring.tof_fwhm_ps == 300);
  CHECK(ring.tof_bins == 11);
  CHECK(ring.tof_bin_ps == 80);
  CHECK(ring.energy_low_keV == 350);
  CHECK(ring.energy_resolution == 0.15);
}

TEST_CASE("shared scanners have the detectors that their makers state") {
  const auto detectors = [](const std::string& name) {
    const RingScanner ring = formats::read_ring_scanner("share/scanners/" + name + ".yaml");
    CHECK(ring.name == name);
    return ring.detectors();
  };
  CHECK(detectors("gemini_tf") == 28336);
  CHECK(detectors("biograph_vision") == 60800);
  CHECK(detectors("explore_vista") == 2 * 6084);
  CHECK(detectors("long_axial") == 564480);
  CHECK(detectors("labr3") == 38880);
  CHECK(detectors("demo_ring") == 6144);
}

TEST_CASE("a mistake in a scanner is one line that says where and what") {
  refused_ring(changed("inner_radius_mm: 60\n", ""), "small.yaml:1:1: scanner.inner_radius_mm is missing: ");
  refused_ring(changed("inner_radius_mm: 60", "inner_radius_mm: wide"),
               "small.yaml:2:18: scanner.inner_radius_mm must be a number, not 'wide'");
  refused_ring(changed("inner_radius_mm: 60", "inner_radius_mm: .nan"), "scanner.inner_radius_mm must be a");
  refused_ring(changed("inner_radius_mm: 60", "inner_radius_mm: -1"),
               "small.yaml:2:18: scanner.inner_radius_mm must be in [1, 10000] mm, not -1");
  refused_ring(changed("inner_radius_mm: 60", "radius_mm: 60\ninner_radius_mm: 60"),
               "small.yaml:2:1: scanner: unknown key 'radius_mm', did you mean 'fov_radius_mm' or 'inner_radius_mm'?");
  refused_ring(changed("inner_radius_mm: 60", "bore: 60\ninner_radius_mm: 60"),
               "small.yaml:2:1: scanner: unknown key 'bore'; it knows name, description, inner_radius_mm, "
               "fov_radius_mm, modules, crystals, coincidence, tof, energy");
  refused_ring(changed("pitch_axial_mm: 25", "pitch_axal_mm: 25"), "did you mean 'pitch_axial_mm'?");
  refused_ring(changed(", pitch_axial_mm: 25", ""),
               "scanner.modules.pitch_axial_mm is needed where there are several rings");
  refused_ring(changed("window_ns: 5", "window_ns: 0").replace(0, 4, "nome"),
               "; small.yaml:");  // both errors are reported
  refused_ring(changed("axial: 2,", "axial: 2.5,"),
               "small.yaml:3:34: scanner.modules.axial must be an integer, not '2.5'");
  refused_ring(changed("[1.5, 1.6]", "[1.5]"), "small.yaml:7:12: scanner.crystals.size_mm must be a list of 2");
  refused_ring(changed("window_ns: 5", "window_ns: 5, window_ns: 6"), "duplicate key 'window_ns'");
  refused_ring(changed("modules: {", "modules: ["), "small.yaml:3:");
  refused_ring(changed("modules: {transaxial: 18, axial: 2, pitch_axial_mm: 25}", "modules: many"),
               "small.yaml:3:10: scanner.modules must be a map, not 'many'");
  refused_ring(changed("transaxial: 10", "transaxial: 30"), "too wide for the ring");
  refused_ring("", "small.yaml:1:1: scanner.name is missing");
  refused_ring(changed("name: small", "name: ''"), "small.yaml:1:7: scanner.name is empty");
  CHECK_THROWS_WITH_AS(formats::read_ring_scanner("no/such.yaml"),
                       doctest::Contains("no/such.yaml: cannot be read: No such file"), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
