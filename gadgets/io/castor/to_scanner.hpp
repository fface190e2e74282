// A scanner of CASToR's as the kernels' scanner model, and back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/geometry.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::castor {

/// Which way the y of CASToR's coordinates points.
enum class Frame {
  castor,  // up, as its documentation says: left-handed
  gantry,  // down, as in the right-handed frame of PETSIRD and DICOM: for files whose writer kept that
};

struct MadeScanner {
  std::shared_ptr<const Scanner> scanner;
  std::vector<std::string> notes = {};  // what of the files' limits the sensitivity does not hold to
};

/// Detectors are the crystals in their order, at the mean depth of interaction; a layer is a type of module. Pairs
/// nearer in angle, or further apart along the axis, than the geometry and the header allow are not in coincidence:
/// modules are consecutive crystals that look the same way in one ring, or as many as it takes for 4096 modules. Every
/// pair has the efficiency 1 / calibration. ToF is as the header has it.
MadeScanner to_scanner(const Geometry& geometry, const DataHeader& header, Frame frame);

/// The detectors of a scanner as crystals at the places where its lines end, in CASToR's frame.
Geometry geometry_of(const Scanner& scanner, const std::string& name);

/// The ToF of a header's events; sigma 0 without ToF.
TofModel tof_of(const DataHeader& header);

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
