// The point of a crystal at which its photons are taken as detected: lines of response end there.
#pragma once

#include <string>
#include <vector>

#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/header.hpp"

namespace tofstream::petsird {

/// How deep in its crystal a detector's point lies: in its centre, at the mean depth of interaction of 511 keV photons
/// (kernels/math/interaction_depth.hpp), or a given depth below its face.
struct DetectorDepth {
  enum class Kind { centre, mean, given };
  Kind kind = Kind::mean;
  double given_mm = 0;
};

/// Reads `centre`, `mean` or a depth in mm. Throws std::invalid_argument for anything else.
DetectorDepth parse_detector_depth(const std::string& text);

/// Points of all crystals of all types, at [type][module * elements + element], in gantry coordinates, mm. A crystal's
/// depth is the edge of its box that points away from the scanner's axis, which is parallel to z through the middle of
/// all crystals; the crystals of a module point as the module does. Where `mean` is asked for and the header does not
/// name the crystals' material, or a box tells no such edge (none within 37 degrees, or a wedge), the point is the
/// centre. Throws Error for a given depth that lies behind a crystal.
std::vector<std::vector<Point>> detector_points(const ScannerInformation& scanner, const DetectorDepth& depth);

/// What detector_points does, in words, and whether crystals so deep that it shows (8 mm) have a point of unknown
/// depth.
struct DetectorDepthNote {
  std::string words;
  bool unknown = false;
};
DetectorDepthNote detector_depth_note(const ScannerInformation& scanner, const DetectorDepth& depth);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
