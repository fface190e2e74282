// Rings of detectors: see rings.hpp.
#include "gadgets/io/interfile/rings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/shared_files.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::interfile {
namespace {

constexpr double turn = 2 * std::numbers::pi;

std::optional<std::vector<double>> numbers_in(std::string_view line) {
  std::vector<double> numbers;
  const auto is_between = [](char c) { return c == ',' || c == ' ' || c == '\t' || c == '\r'; };
  while (!line.empty()) {
    if (is_between(line.front())) {
      line.remove_prefix(1);
      continue;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) return {};
    numbers.push_back(value);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  }
  return numbers;
}

// A line of a crystal map: ring, detector, perhaps a layer, and x, y, z in mm.
std::vector<Vec3> read_crystal_map(const ScannerFigures& figures) {
  const std::filesystem::path& path = figures.crystals;
  require_readable(path, "the header's 'Name of crystal map' names it");
  std::ifstream file(path);
  const auto refuse = [&](int line, const std::string& why) {
    throw std::runtime_error(fmt::format("{}:{}: {}", printable(path.string()), line, why));
  };
  const std::size_t all = static_cast<std::size_t>(figures.rings) * static_cast<std::size_t>(figures.detectors);
  constexpr float nowhere = std::numeric_limits<float>::max();
  std::vector<Vec3> positions(all, Vec3{nowhere, 0, 0});
  std::size_t found = 0;
  int number = 0;
  float low = nowhere, high = -nowhere;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#' || line == "\r") continue;
    const auto values = numbers_in(line);
    if (!values || (values->size() != 5 && values->size() != 6))
      refuse(number, "a crystal is: ring, detector, layer (or none), x, y, z");
    const std::vector<double>& v = *values;
    const std::size_t xyz = v.size() - 3;
    if (v.size() == 6 && v[2] != 0) refuse(number, "layers of depth are not told apart: layer 0 only");
    if (v[0] != std::floor(v[0]) || v[1] != std::floor(v[1]) || v[0] < 0 || v[0] >= figures.rings || v[1] < 0 ||
        v[1] >= figures.detectors)
      refuse(number, fmt::format("ring {:g}, detector {:g}: the header has {} rings of {} detectors", v[0], v[1],
                                 figures.rings, figures.detectors));
    constexpr double furthest_mm = 1e5;
    for (std::size_t axis = xyz; axis < v.size(); ++axis)
      if (std::abs(v[axis]) > furthest_mm) refuse(number, fmt::format("{:g} mm is no place of a crystal", v[axis]));
    Vec3& position = positions[detector_of(figures, static_cast<int>(v[1]), static_cast<int>(v[0]))];
    if (position.x != nowhere) refuse(number, "this crystal came before");
    position = Vec3d{v[xyz], v[xyz + 1], -v[xyz + 2]}.as<float>();
    low = std::min(low, position.z);
    high = std::max(high, position.z);
    ++found;
  }
  if (found != all)
    throw std::runtime_error(fmt::format("{}: {} crystals, and the header has {} rings of {} detectors",
                                         printable(path.string()), found, figures.rings, figures.detectors));
  for (Vec3& position : positions) position.z -= (low + high) / 2;
  return positions;
}

std::vector<Vec3> cylinder(const ScannerFigures& figures) {
  std::vector<Vec3> positions;
  const double middle = 0.5 * (figures.rings - 1);
  for (int k = 0; k < figures.detectors; ++k) {
    const double psi = turn * k / figures.detectors + figures.offset_deg * turn / 360;
    for (int ring = 0; ring < figures.rings; ++ring)
      positions.push_back(Vec3d{figures.radius_mm() * std::sin(psi), -figures.radius_mm() * std::cos(psi),
                                (middle - ring) * figures.ring_distance_mm}
                              .as<float>());
  }
  return positions;
}

// Puts values that are alike within `apart` into groups, in ascending order: the number of each value's group.
std::vector<int> groups_of(const std::vector<double>& values, double apart, int& count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<int> group(values.size());
  count = 0;
  for (std::size_t n = 0; n < order.size(); ++n) {
    if (n > 0 && values[order[n]] - values[order[n - 1]] > apart) ++count;
    group[order[n]] = count;
  }
  ++count;
  return group;
}

constexpr double same_mm = 1e-3, same_rad = 1e-5;

bool is_cylinder(const Rings& rings, const std::vector<double>& radii, const std::vector<double>& angles,
                 const DetectorTable& detectors) {
  const ScannerFigures& figures = rings.figures;
  for (std::size_t d = 0; d < radii.size(); ++d) {
    const auto [k, ring] = rings.places[d];
    const double psi = figures.offset_deg * turn / 360 + turn * k / figures.detectors;
    const double z = (0.5 * (figures.rings - 1) - ring) * figures.ring_distance_mm;
    if (std::abs(radii[d] - figures.radius_mm()) > same_mm ||
        std::abs(std::remainder(angles[d] - psi, turn)) > same_rad ||
        std::abs(static_cast<double>(detectors.position(static_cast<std::uint32_t>(d)).z) - z) > same_mm)
      return false;
  }
  return true;
}

std::string crystal_map_text(const Rings& rings, const DetectorTable& detectors) {
  std::vector<std::string> lines(rings.places.size());
  for (std::size_t d = 0; d < rings.places.size(); ++d) {
    const auto [k, ring] = rings.places[d];
    const Vec3 at = detectors.position(static_cast<std::uint32_t>(d));
    lines[static_cast<std::size_t>(ring) * static_cast<std::size_t>(rings.figures.detectors) +
          static_cast<std::size_t>(k)] = fmt::format("{},{},{},{},{}\n", ring, k, at.x, at.y, -at.z);
  }
  std::string text = "#ring,detector,x,y,z\n";
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

std::shared_ptr<const Scanner> to_scanner(const ProjectionHeader& header) {
  const ScannerFigures& figures = header.scanner;
  auto scanner = std::make_shared<Scanner>();
  scanner->name = figures.name;
  scanner->detectors =
      std::make_shared<const DetectorTable>(figures.crystals.empty() ? cylinder(figures) : read_crystal_map(figures));
  ModuleType type;
  type.modules = static_cast<std::uint32_t>(figures.detectors);
  type.elements = static_cast<std::uint32_t>(figures.rings);
  type.element_size_mm = {0, 0, static_cast<float>(figures.ring_distance_mm)};
  const double reference = annihilation_keV / figures.reference_keV;
  type.energy = {static_cast<float>(header.low_keV), static_cast<float>(header.high_keV),
                 static_cast<float>(figures.energy_resolution / std::sqrt(reference))};
  scanner->types = {type};
  if (header.has_tof()) {
    const double width_mm = header.tof_width_mm();
    scanner->tof = {{.sigma_mm = static_cast<float>(figures.tof_fwhm_ps * speed_of_light_mm_ps / 2 / fwhm_per_sigma),
                     .bin_width_mm = static_cast<float>(width_mm),
                     .window_mm = static_cast<float>(width_mm * header.tof_positions)}};
  }
  scanner->validate();
  return scanner;
}

Rings rings_of(const Scanner& scanner) {
  const DetectorTable& detectors = *scanner.detectors;
  const auto count = static_cast<std::size_t>(detectors.size());
  std::vector<double> depths(count), radii(count), angles(count);
  for (std::size_t d = 0; d < count; ++d) {
    const Vec3 at = detectors.position(static_cast<std::uint32_t>(d));
    depths[d] = -static_cast<double>(at.z);
    radii[d] = std::hypot(static_cast<double>(at.x), static_cast<double>(at.y));
    angles[d] = std::atan2(static_cast<double>(at.x), -static_cast<double>(at.y));
    if (angles[d] < -same_rad) angles[d] += turn;
  }
  Rings rings;
  ScannerFigures& figures = rings.figures;
  const std::vector<int> ring = groups_of(depths, same_mm, figures.rings);
  const std::vector<int> angle = groups_of(angles, same_rad, figures.detectors);
  const auto places = static_cast<std::size_t>(figures.rings) * static_cast<std::size_t>(figures.detectors);
  std::vector<bool> taken(places);
  for (std::size_t d = 0; d < count && places == count; ++d)
    taken[static_cast<std::size_t>(ring[d]) * static_cast<std::size_t>(figures.detectors) +
          static_cast<std::size_t>(angle[d])] = true;
  if (places != count || std::ranges::count(taken, true) != static_cast<std::ptrdiff_t>(count) ||
      figures.detectors % 2 != 0 || figures.detectors < 4)
    throw std::runtime_error(fmt::format(
        "the scanner {} is no stack of rings with an even number of crystals each, at the same angles and in "
        "one layer ({} crystals at {} places along the axis and {} angles): Interfile projection data of "
        "PET hold only such",
        printable(scanner.name), count, figures.rings, figures.detectors));
  for (std::size_t d = 0; d < count; ++d) rings.places.push_back({.detector = angle[d], .ring = ring[d]});
  const auto [first, last] = std::ranges::minmax(depths);
  figures.name = scanner.name;
  figures.inner_diameter_mm = 2 * *std::ranges::min_element(radii);
  figures.ring_distance_mm = figures.rings > 1
                                 ? (last - first) / (figures.rings - 1)
                                 : std::max(1.0, static_cast<double>(scanner.types.front().element_size_mm.z));
  figures.bin_mm = std::numbers::pi * figures.radius_mm() / figures.detectors;
  const auto zero = std::ranges::find(angle, 0);
  figures.offset_deg = angles[static_cast<std::size_t>(zero - angle.begin())] * 360 / turn;
  const EnergyResponse& energy = scanner.types.front().energy;
  figures.energy_resolution = static_cast<double>(energy.resolution);
  if (!is_cylinder(rings, radii, angles, detectors)) {
    rings.crystal_map = crystal_map_text(rings, detectors);
    figures.offset_deg = 0;
  }
  return rings;
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
