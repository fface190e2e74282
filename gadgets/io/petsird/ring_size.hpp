// How large a PETSIRD scanner is, as people name it: diameter between crystals' faces, axial length, crystals, rings.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gadgets/io/petsird/header.hpp"

namespace tofstream::petsird {

struct RingSize {
  double diameter_mm = 0;      // twice the least distance of a crystal's inner face from the scanner's axis
  double axial_length_mm = 0;  // from the first crystal's end to the last one's
  std::uint64_t crystals = 0;
  std::size_t rings = 0;  // different positions of crystals' centres along the axis, to 0.1 mm
  // Edges of the first crystal: around the axis, along it, and away from it.
  double tangential_mm = 0, axial_mm = 0, depth_mm = 0;
};

/// The size of all types of modules together. The axis is z.
RingSize ring_size(const ScannerInformation& scanner);

/// The edge of a type's first crystal that points away from the axis; 0 for a type without crystals.
double crystal_depth_mm(const ScannerInformation& scanner, std::size_t type);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
