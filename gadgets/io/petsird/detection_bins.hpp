// Detection bins of a PETSIRD scanner: bin = energy + energies*(element + elements*module) within a
// module type, and where the crystal of a bin is. Gantry coordinates in mm.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gadgets/io/petsird/header.hpp"

namespace tofstream::petsird {

using Point = std::array<double, 3>;

/// One module type's sizes.
struct BinCounts {
  std::uint32_t modules = 0;
  std::uint32_t elements = 0;  ///< detecting elements in a module
  std::uint32_t energies = 0;  ///< energy bins

  std::uint64_t crystals() const { return std::uint64_t{modules} * elements; }
  std::uint64_t bins() const { return crystals() * energies; }
  std::uint64_t bins_in_module() const { return std::uint64_t{elements} * energies; }
};

/// A detection bin taken apart.
struct ExpandedBin {
  std::uint32_t module = 0;
  std::uint32_t element = 0;
  std::uint32_t energy = 0;
  bool operator==(const ExpandedBin&) const = default;
};

/// How many types of modules the scanner has.
std::size_t module_types(const ScannerInformation& scanner);
/// The sizes of one type of module. Throws Error if the scanner has no such type.
BinCounts bin_counts(const ScannerInformation& scanner, std::size_t type);
/// All detection bins of all types.
std::uint64_t detection_bins(const ScannerInformation& scanner);

/// A bin taken apart, and put together again, as the top of this file says.
ExpandedBin expand_bin(const BinCounts& counts, std::uint32_t bin);
std::uint32_t compose_bin(const BinCounts& counts, const ExpandedBin& expanded);

/// A detection bin of a scanner.
struct DetectionBin {
  std::uint32_t type = 0;  ///< of module
  std::uint32_t bin = 0;
  bool operator==(const DetectionBin&) const = default;
};
/// The bin that has a number if those of all types are counted on, type after type. Throws Error if there
/// are not so many.
DetectionBin nth_bin(const ScannerInformation& scanner, std::uint64_t number);

/// Which coordinates a position is in. An image lives in those of the gantry, so that is what is
/// used; the header's gantryAlignment, which leads on to those of a CT or MR, is for registration
/// only.
enum class PositionFrame { gantry, aligned };

/// The mean of a crystal's eight corners, mm: element transform first, then the module's.
Point crystal_centre(const ScannerInformation& scanner, std::size_t type, std::uint32_t module, std::uint32_t element,
                     PositionFrame frame = PositionFrame::gantry);
/// The centre of the crystal of a detection bin, mm. Throws Error if the type has no such bin.
Point bin_centre(const ScannerInformation& scanner, DetectionBin bin, PositionFrame frame = PositionFrame::gantry);
/// The centres of all crystals of a type, at [module*elements + element].
std::vector<Point> crystal_centres(const ScannerInformation& scanner, std::size_t type,
                                   PositionFrame frame = PositionFrame::gantry);

/// The transform applied to the point.
Point moved_by(const Transform& transform, const Point& point);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
