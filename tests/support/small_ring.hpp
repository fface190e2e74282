// A small scanner for the tests of several suites.
#pragma once

#include "kernels/ring/simulate/ring_scanner.hpp"

namespace tofstream::testing {

/// Two rings of 16 flat modules of 4x4 crystals; 512 detectors. Inlined into a test that is compiled with it, it gives
/// a false alarm of GCC 12: -Wmaybe-uninitialized.
[[gnu::noinline]] inline RingScanner small_ring() {
  RingScanner ring;
  ring.inner_radius_mm = 150;
  ring.modules_transaxial = 16;
  ring.modules_axial = 2;
  ring.crystals_transaxial = ring.crystals_axial = 4;
  ring.crystal_transaxial_mm = ring.crystal_axial_mm = 11;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 12;
  ring.module_pitch_axial_mm = 49;
  ring.tof_fwhm_ps = 400;
  ring.tof_bins = 21;
  ring.tof_bin_ps = 100;
  ring.min_sector_difference = 3;
  return ring;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
