// The PETSIRD header of a simulated ring scanner: its modules, crystals, ToF bins and pair efficiencies.
#pragma once

#include <cstddef>

#include "gadgets/io/scanner_kinds.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"

namespace tofstream::petsird {

/// The header, with efficiencies as tables by classes of module pairs: trues per second for a line integral of 1 Bq/mL
/// mm. Where they would exceed `most_table_bytes` in memory the header gives them in closed form (closed_form.hpp), and
/// has none where crystals have layers that differ. Throws std::invalid_argument for a ring that is not valid, or whose ToF
/// is not binned, which the standard cannot hold. Boxes are the crystals' own; their material attenuates like the ring's
/// layers, so that a reader finds the detectors' points (detector_points.hpp), within 0.02 mm if layers of unequal depth
/// share a box.
ScannerHeader header_of(const RingScanner& ring, std::size_t most_table_bytes = std::size_t{1} << 28);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
