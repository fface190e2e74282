// Detection bins taken apart, and crystals placed in the gantry.
#include "gadgets/io/petsird/detection_bins.hpp"

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

Point mean_corner(const BoxShape& box) {
  Point mean{};
  for (const auto& corner : box) {
    for (std::size_t axis = 0; axis < 3; ++axis) mean[axis] += double{corner[axis]} / 8;
  }
  return mean;
}

}  // namespace

std::size_t module_types(const ScannerInformation& scanner) {
  return scanner.geometry.replicated_modules.size();
}

BinCounts bin_counts(const ScannerInformation& scanner, std::size_t type) {
  if (type >= module_types(scanner) || type >= scanner.event_energy_bin_edges_keV.size()) {
    throw Error(
        fmt::format("PETSIRD scanner has {} types of modules; there is no type {}", module_types(scanner), type));
  }
  const Replicated<DetectorModule>& modules = scanner.geometry.replicated_modules[type];
  const BinEdges& edges = scanner.event_energy_bin_edges_keV[type];
  return {static_cast<std::uint32_t>(modules.transforms.size()),
          static_cast<std::uint32_t>(modules.object.detecting_elements.transforms.size()),
          edges.empty() ? 0 : static_cast<std::uint32_t>(edges.size() - 1)};
}

std::uint64_t detection_bins(const ScannerInformation& scanner) {
  std::uint64_t bins = 0;
  for (std::size_t type = 0; type < module_types(scanner); ++type) {
    bins += bin_counts(scanner, type).bins();
  }
  return bins;
}

ExpandedBin expand_bin(const BinCounts& counts, std::uint32_t bin) {
  const std::uint32_t crystal = bin / counts.energies;
  return {crystal / counts.elements, crystal % counts.elements, bin % counts.energies};
}

std::uint32_t compose_bin(const BinCounts& counts, const ExpandedBin& expanded) {
  return expanded.energy + counts.energies * (expanded.element + counts.elements * expanded.module);
}

Point moved_by(const Transform& transform, const Point& point) {
  Point result{};
  for (std::size_t row = 0; row < 3; ++row) {
    const float* m = transform.data() + 4 * row;
    result[row] = m[0] * point[0] + m[1] * point[1] + m[2] * point[2] + m[3];
  }
  return result;
}

Point crystal_centre(const ScannerInformation& scanner, std::size_t type, std::uint32_t module, std::uint32_t element,
                     PositionFrame frame) {
  const BinCounts counts = bin_counts(scanner, type);
  if (module >= counts.modules || element >= counts.elements) {
    throw Error(
        fmt::format("PETSIRD scanner has {} modules of {} elements of type {}; there is no "
                    "module {} with element {}",
                    counts.modules, counts.elements, type, module, element));
  }
  const Replicated<DetectorModule>& modules = scanner.geometry.replicated_modules[type];
  const auto& elements = modules.object.detecting_elements;
  const Point in_module = moved_by(elements.transforms[element], mean_corner(elements.object.shape));
  const Point in_gantry = moved_by(modules.transforms[module], in_module);
  const bool align = frame == PositionFrame::aligned && scanner.gantry_alignment;
  return align ? moved_by(*scanner.gantry_alignment, in_gantry) : in_gantry;
}

Point bin_centre(const ScannerInformation& scanner, DetectionBin bin, PositionFrame frame) {
  const BinCounts counts = bin_counts(scanner, bin.type);
  if (bin.bin >= counts.bins()) {
    throw Error(fmt::format("PETSIRD scanner has {} detection bins of type {}; there is no bin {}", counts.bins(),
                            bin.type, bin.bin));
  }
  const ExpandedBin expanded = expand_bin(counts, bin.bin);
  return crystal_centre(scanner, bin.type, expanded.module, expanded.element, frame);
}

DetectionBin nth_bin(const ScannerInformation& scanner, std::uint64_t number) {
  std::uint64_t before = 0;
  for (std::uint32_t type = 0; type < module_types(scanner); ++type) {
    const std::uint64_t bins = bin_counts(scanner, type).bins();
    if (number - before < bins) return {type, static_cast<std::uint32_t>(number - before)};
    before += bins;
  }
  throw Error(fmt::format("PETSIRD scanner has {} detection bins; there is no bin {}", before, number));
}

std::vector<Point> crystal_centres(const ScannerInformation& scanner, std::size_t type, PositionFrame frame) {
  const BinCounts counts = bin_counts(scanner, type);
  std::vector<Point> centres;
  centres.reserve(counts.crystals());
  for (std::uint32_t module = 0; module < counts.modules; ++module) {
    for (std::uint32_t element = 0; element < counts.elements; ++element) {
      centres.push_back(crystal_centre(scanner, type, module, element, frame));
    }
  }
  return centres;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
