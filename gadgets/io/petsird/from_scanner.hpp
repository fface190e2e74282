// A PETSIRD header for a scanner of which no more is known than where its lines end: for events of other programs'
// files.
#pragma once

#include <string>
#include <vector>

#include "gadgets/io/petsird/header.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::petsird {

/// A header whose detection bins are the scanner's detectors, in their order.
struct DescribedScanner {
  Header header;
  std::vector<std::string> left_out;  // what of the scanner the header does not say, in words
};

/// One type of modules; each detector is a box of nominal depth, 1 mm, about the point where its lines end. The
/// scanner's modules are kept where they are rotated copies of each other about z, to 0.01 mm; else each detector is a
/// module, and stands at its place to the last bit. Which pairs count is written for at most 4096 modules. ToF is that
/// of `tof`, in its bins, which lie so that `tof_mm`, an event's, is the centre of one; of ToF without bins, in ten a
/// FWHM. Throws std::runtime_error of one line for ToF whose
/// window is not known, and for a scanner of fewer than two detectors.
DescribedScanner header_of(const Scanner& scanner, const TofModel& tof, double tof_mm = 0);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
