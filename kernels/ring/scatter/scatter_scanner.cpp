// Scanners as single scatter sees them: see scatter_scanner.hpp.
#include "kernels/ring/scatter/scatter_scanner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

namespace {

/// One for all types of modules.
EnergyAcceptance acceptance_of(const Scanner& scanner) {
  const auto refuse = [&](const char* what) {
    throw std::invalid_argument(fmt::format(
        "scatter depends on the energies that count, and scanner {} {}: the events' header, or the scanner's file (its "
        "energy: {{low_keV: .., high_keV: .., resolution: ..}}), must state one energy window and one resolution",
        scanner.name, what));
  };
  if (scanner.types.empty() || !(scanner.types.front().energy.high_keV > 0)) refuse("states no energy window");
  const EnergyResponse& energy = scanner.types.front().energy;
  if (!(energy.resolution > 0)) refuse("states no energy resolution");
  for (const ModuleType& type : scanner.types)
    if (type.energy.low_keV != energy.low_keV || type.energy.high_keV != energy.high_keV)
      refuse("has kinds of modules with different energy windows");
  for (const ModuleType& type : scanner.types)
    if (type.energy.resolution != energy.resolution) refuse("has kinds of modules with different energy resolutions");
  return {.low_keV = static_cast<double>(energy.low_keV),
          .high_keV = static_cast<double>(energy.high_keV),
          .resolution = static_cast<double>(energy.resolution)};
}

/// One for all types of modules; 0: no ToF.
double tof_sigma_of(const Scanner& scanner) {
  if (scanner.tof.empty()) return 0;
  const float first = scanner.tof.front().sigma_mm;
  constexpr float alike = 0.05f;  // scatter is smooth along a line
  for (const TofModel& tof : scanner.tof)
    if (std::abs(tof.sigma_mm - first) > alike * first)
      throw std::invalid_argument(
          fmt::format("scanner {} has kinds of modules with ToF resolutions of {:.3g} and {:.3g} mm (sigma), and "
                      "scatter is made for one "
                      "of all: give it as a file",
                      scanner.name, first, tof.sigma_mm));
  return static_cast<double>(first);
}

}  // namespace

ScatterScanner scatter_scanner(const Scanner& scanner) {
  ScatterScanner made;
  made.detectors.energy = acceptance_of(scanner);
  made.tof_sigma_mm = tof_sigma_of(scanner);
  const std::int64_t count = scanner.detectors->size();
  double sum = 0, nearest = std::numeric_limits<double>::max(), farthest = 0;
  for (std::int64_t d = 0; d < count; ++d) {
    const Vec3d at = scanner.detectors->position(static_cast<std::uint32_t>(d)).as<double>();
    const double from_axis = std::hypot(at.x, at.y);
    sum += from_axis;
    nearest = std::min(nearest, from_axis);
    farthest = std::max(farthest, from_axis);
    made.half_length_mm = std::max(made.half_length_mm, std::abs(at.z));
  }
  constexpr double roundest = 1.15;  // twelve flat modules: 1.04; two layers of crystals a little more
  if (!(farthest <= roundest * nearest))
    throw std::invalid_argument(
        fmt::format("the crystals of scanner {} lie {:.0f} to {:.0f} mm from the axis x = y = 0, and scatter is made "
                    "for a cylinder "
                    "of them about it",
                    scanner.name, nearest, farthest));
  made.detectors.radius_mm = sum / static_cast<double>(count);
  if (const float paths = scanner.types.front().free_paths; paths > 0) made.detectors.crystal.back = paths;
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
