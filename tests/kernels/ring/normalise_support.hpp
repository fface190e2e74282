// A scanner and a source for the tests of the normalisation.
#pragma once

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/simulate/phantom.hpp"

namespace tofstream::testing {

/// Three rings of 24 flat modules of 4 x 4 crystals of 6 mm, of efficiencies from 0.6 to 1; 1152 detectors.
inline RingScanner ring_to_normalise() {
  RingScanner ring;
  ring.inner_radius_mm = 120;
  ring.modules_transaxial = 24;
  ring.modules_axial = 3;
  ring.crystals_transaxial = ring.crystals_axial = 4;
  ring.crystal_transaxial_mm = ring.crystal_axial_mm = 5.8;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 6;
  ring.module_pitch_axial_mm = 25;
  ring.tof_fwhm_ps = 400;
  ring.tof_bins = 21;
  ring.tof_bin_ps = 100;
  ring.min_sector_difference = 4;
  ring.crystal_efficiency_spread = 0.4;
  return ring;
}

/// Water with 10 kBq/mL, 90 mm long.
inline Phantom water_cylinder(double radius_mm, Vec3d centre_mm = {}) {
  Solid solid(Shape::cylinder, centre_mm, {radius_mm, radius_mm, 45});
  solid.name = "water";
  solid.activity_Bq_mL = 10000;
  solid.mu_per_cm = 0.096;
  return {"cylinder", {solid}};
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
