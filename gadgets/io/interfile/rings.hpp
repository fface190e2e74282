// Scanners of projection data: rings of detectors in STIR's numbering as the kernels' model, and back.
//
// STIR's frame has x to the left of a patient that lies head first and supine, y to the back and z from the head to the
// feet; the kernels' frame is DICOM's, so that z changes its sign: (x, y, z) = (x, y, -z of STIR). Detector k of a ring
// lies at R (sin psi, -cos psi), psi = 2 pi k / N + view offset; ring 0 is the one furthest into the scanner, at the
// greatest z of ours. Both frames are centred on the rings here. (UCL/STIR, commit 9a59610: LORCoordinates.inl,
// DiscretisedDensity.inl.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gadgets/io/interfile/projection_header.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::interfile {

/// The scanner of a header: a module for each detector of a ring, which has that detector in all rings. Pairs of
/// different modules count. Throws std::runtime_error of one line, with file and line, for a crystal map that cannot be.
std::shared_ptr<const Scanner> to_scanner(const ProjectionHeader& header);

/// The number in it of a detector of a ring.
inline std::uint32_t detector_of(const ScannerFigures& figures, int detector, int ring) {
  return static_cast<std::uint32_t>(detector) * static_cast<std::uint32_t>(figures.rings) +
         static_cast<std::uint32_t>(ring);
}

/// Any scanner as rings, and where each of its detectors lies in them.
struct Rings {
  ScannerFigures figures;  // without crystals' file and ToF
  struct Place {
    int detector = 0, ring = 0;
  };
  std::vector<Place> places;  // one a detector
  /// Not empty for a scanner whose detectors do not lie evenly on a cylinder: the text of a crystal map of STIR's.
  std::string crystal_map;
};
/// Throws std::runtime_error of one line for a scanner without such rings: of unlike numbers of crystals, an odd number,
/// or with layers of depth.
Rings rings_of(const Scanner& scanner);

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
