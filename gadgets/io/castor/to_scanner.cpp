// Scanners of CASToR's as the kernels' model: see to_scanner.hpp.
#include "gadgets/io/castor/to_scanner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/math/units.hpp"

namespace tofstream::castor {
namespace {

constexpr std::size_t most_modules = 4096;  // whose pairs fill a table of 64 MiB

/// A point or a direction from one frame to the other.
Vec3 mirrored(Vec3 v) {
  return {v.x, -v.y, v.z};
}

bool looks_alike(const Crystal& a, const Crystal& b) {
  return a.outward == b.outward && a.centre_mm.z == b.centre_mm.z;
}

/// Consecutive crystals of a layer that one module holds.
struct Modules {
  std::uint32_t elements = 1;
  bool are_alike = true;  // the crystals of each look the same way and lie in one ring
};

// As many as all stretches of alike crystals can be divided by, or so many that there are at most `most` modules.
Modules modules_of(std::span<const Crystal> layer, std::size_t most) {
  std::size_t divisor = 0, stretch = 0;
  for (std::size_t c = 0; c < layer.size(); ++c) {
    if (stretch > 0 && !looks_alike(layer[c], layer[c - 1])) divisor = std::gcd(divisor, std::exchange(stretch, 0));
    ++stretch;
  }
  divisor = std::gcd(divisor, stretch);
  for (std::size_t elements = divisor; elements <= layer.size(); elements += divisor)
    if (layer.size() % elements == 0 && layer.size() / elements <= most)
      return {static_cast<std::uint32_t>(elements), elements == divisor};
  return {static_cast<std::uint32_t>(layer.size()), false};
}

/// Which pairs of crystals count, by CASToR's two limits.
struct Limits {
  double least_angle_rad = 0, most_axial_mm = -1;
  bool any() const { return least_angle_rad > 0 || most_axial_mm >= 0; }
  bool hold(const Crystal& a, const Crystal& b) const {
    constexpr double rounding = 1e-4;
    const double axial = std::abs(static_cast<double>(a.centre_mm.z) - static_cast<double>(b.centre_mm.z));
    if (most_axial_mm >= 0 && axial > most_axial_mm + rounding) return false;
    const double cosine = static_cast<double>(a.outward.x * b.outward.x + a.outward.y * b.outward.y);
    return std::acos(std::clamp(cosine, -1.0, 1.0)) >= least_angle_rad - rounding;
  }
};

void add_layers(const Geometry& geometry, Frame frame, Scanner& scanner, bool& are_alike) {
  std::vector<Vec3> positions;
  ModuleType next;
  std::size_t first = 0;
  for (const Layer& layer : geometry.layers) {
    const auto crystals = std::span(geometry.crystals).subspan(first, layer.crystals);
    const Modules modules = modules_of(crystals, most_modules / geometry.layers.size());
    are_alike = are_alike && modules.are_alike;
    next.elements = modules.elements;
    next.modules = layer.crystals / modules.elements;
    next.element_size_mm = {0, 0, static_cast<float>(layer.axial_mm)};
    scanner.types.push_back(next);
    next.first_detector += layer.crystals;
    next.first_module += next.modules;
    next.first_bin += layer.crystals;
    first += layer.crystals;
    const auto deeper = static_cast<float>(layer.interaction_mm - layer.depth_mm / 2);  // than the middle
    for (const Crystal& crystal : crystals) {
      const Vec3 at = crystal.centre_mm + deeper * crystal.outward;
      positions.push_back(frame == Frame::castor ? mirrored(at) : at);
    }
  }
  scanner.detectors = std::make_shared<const DetectorTable>(positions);
}

void add_pairs(const Geometry& geometry, const Limits& limits, Scanner& scanner) {
  std::vector<const Crystal*> of_module;  // the one in its middle
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t m = 0; m < type.modules; ++m)
      of_module.push_back(&geometry.crystals[type.first_detector + m * type.elements + type.elements / 2]);
  const std::size_t modules = of_module.size();
  scanner.module_pair.assign(modules * modules, 0);
  if (!limits.any()) return;
  for (std::size_t a = 0; a < modules; ++a)
    for (std::size_t b = 0; b < modules; ++b)
      if (!limits.hold(*of_module[a], *of_module[b])) scanner.module_pair[a * modules + b] = -1;
}

}  // namespace

TofModel tof_of(const DataHeader& header) {
  if (!header.has_tof) return {};
  const auto mm = [](double ps) { return static_cast<float>(ps * speed_of_light_mm_ps / 2); };
  const bool is_list = header.mode == DataMode::list;
  return {.sigma_mm = static_cast<float>(header.tof_fwhm_ps * speed_of_light_mm_ps / 2 / fwhm_per_sigma),
          .bin_width_mm = mm(is_list ? header.tof_quantum_ps : header.tof_bin_ps),
          .window_mm = mm(is_list ? header.tof_range_ps : header.tof_bin_ps * header.tof_bins)};
}

MadeScanner to_scanner(const Geometry& geometry, const DataHeader& header, Frame frame) {
  auto scanner = std::make_shared<Scanner>();
  scanner->name = geometry.name;
  bool are_alike = true;
  add_layers(geometry, frame, *scanner, are_alike);
  const Limits limits{geometry.least_angle_deg * std::numbers::pi / 180, header.most_axial_difference_mm};
  add_pairs(geometry, limits, *scanner);
  if (header.has_tof) scanner->tof.assign(scanner->types.size() * scanner->types.size(), tof_of(header));
  scanner->calibration = static_cast<float>(1 / header.calibration);
  scanner->validate();
  MadeScanner made{std::move(scanner)};
  if (limits.any() && !are_alike)
    made.notes.push_back(fmt::format(
        "the limits on the angle and the axial distance of two crystals hold for groups of up to {} crystals, not for "
        "each: {} has too many directions for more",
        std::ranges::max(made.scanner->types, {}, &ModuleType::elements).elements, geometry.file.string()));
  return made;
}

Geometry geometry_of(const Scanner& scanner, const std::string& name) {
  // Where photons interact is written as the crystals' middle, so that the depth is only nominal.
  constexpr double nominal_mm = 1;
  Geometry geometry{.name = name};
  for (const ModuleType& type : scanner.types)
    geometry.layers.push_back({.crystals = type.modules * type.elements,
                               .depth_mm = nominal_mm,
                               .interaction_mm = nominal_mm / 2,
                               .axial_mm = static_cast<double>(type.element_size_mm.z)});
  for (std::int64_t d = 0; d < scanner.detectors->size(); ++d) {
    const Vec3 at = mirrored(scanner.detectors->position(static_cast<std::uint32_t>(d)));
    const float radius = std::hypot(at.x, at.y);
    geometry.crystals.push_back({at, radius > 0 ? Vec3{at.x / radius, at.y / radius, 0} : Vec3{}});
  }
  return geometry;
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
