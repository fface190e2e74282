// A PETSIRD header as the kernels' scanner model: crystals become detectors, in gantry coordinates.
#pragma once

#include <memory>

#include "gadgets/io/petsird/detector_points.hpp"
#include "gadgets/io/petsird/header.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::petsird {

/// The scanner of a checked header (header_check.hpp). Detectors are numbered type by type, module by module,
/// element by element, so that detector = first_detector + bin / energy_bins; their points are those of
/// detector_points.hpp. A pair of types with one ToF bin is non-ToF. Without a table of module pairs every pair counts,
/// within a module too, as the standard says; with more than 4096 modules pairs within a module do not, since such
/// modules are small blocks. Throws std::invalid_argument if the scanner has no detectors.
std::shared_ptr<const Scanner> to_scanner(const ScannerInformation& scanner, const DetectorDepth& depth = {});

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
