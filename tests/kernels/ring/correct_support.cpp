// A small scanner and events of it: see correct_support.hpp.
#include "tests/kernels/ring/correct_support.hpp"

#include <random>

namespace tofstream::testing {

// Inlined into a test that is compiled with this, it gives a false alarm of GCC 12: -Wmaybe-uninitialized.
[[gnu::noinline]] RingScanner small_ring() {
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

EventBatch random_events(const std::shared_ptr<const Scanner>& scanner, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  const auto detectors = static_cast<std::uint32_t>(scanner->detectors->size());
  EventBatch batch;
  batch.count = count;
  batch.scanner = scanner;
  batch.detectors = scanner->detectors;
  batch.duration_s = 1;
  batch.detector1 = batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
  if (!scanner->tof.empty()) {
    batch.tof = scanner->tof.front();
    batch.tof_mm = Buffer<float>(Memory::host, count);
  }
  const auto bins = std::lround(batch.tof.bin_width_mm > 0 ? batch.tof.window_mm / batch.tof.bin_width_mm : 1);
  for (std::int64_t i = 0; i < count;) {
    const auto a = static_cast<std::uint32_t>(random() % detectors),
               b = static_cast<std::uint32_t>(random() % detectors);
    if (!scanner->in_coincidence(a, b)) continue;
    batch.detector1[i] = std::max(a, b);
    batch.detector2[i] = std::min(a, b);
    if (!batch.tof_mm.empty())
      batch.tof_mm[i] =
          (static_cast<float>(random() % static_cast<unsigned>(bins)) - 0.5f * static_cast<float>(bins - 1)) *
          batch.tof.bin_width_mm;
    ++i;
  }
  return batch;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
