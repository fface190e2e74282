// A small scanner with every kind of table, and a mu map: what the sensitivity's tests share.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::testing {

/// Modules of two types on a ring: 3 x 2 elements, and 2 x 1 elements. All tables are filled.
inline Scanner toy_scanner(std::uint32_t energies1 = 2, std::uint32_t energies2 = 1) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(0.5f, 1.5f);
  Scanner scanner;
  scanner.name = "toy";
  std::vector<Vec3> positions;
  const auto add_module = [&](int m, int transaxial, int axial) {
    const float angle = 6.2831853f * static_cast<float>(m) / 10;
    for (int t = 0; t < transaxial; ++t)
      for (int z = 0; z < axial; ++z) {
        const float across = 8.0f * (static_cast<float>(t) - 0.5f * static_cast<float>(transaxial - 1));
        positions.push_back({80 * std::cos(angle) - across * std::sin(angle),
                             80 * std::sin(angle) + across * std::cos(angle),
                             10.0f * (static_cast<float>(z) - 0.5f * static_cast<float>(axial - 1))});
      }
  };
  for (int m = 0; m < 6; ++m) add_module(m, 3, 2);
  for (int m = 6; m < 10; ++m) add_module(m, 2, 1);
  scanner.detectors = std::make_shared<DetectorTable>(positions);
  scanner.types = {{0, 0, 6, 6, energies1, 0}, {36, 6, 4, 2, energies2, 36 * energies1}};
  scanner.calibration = 0.7f;
  scanner.bin_efficiency.resize(36 * energies1 + 8 * energies2);
  for (float& e : scanner.bin_efficiency) e = uniform(random);
  scanner.pair_tables.resize(4);  // [type1][type2]
  for (std::uint32_t t = 0; t < 4; ++t) {
    const std::uint32_t rows = t / 2 ? 2 * energies2 : 6 * energies1;
    scanner.pair_tables[t].columns = t % 2 ? 2 * energies2 : 6 * energies1;
    scanner.pair_tables[t].values.resize(std::size_t{rows} * scanner.pair_tables[t].columns);
    for (float& e : scanner.pair_tables[t].values) e = uniform(random);
  }
  scanner.module_pair.assign(100, -1);
  for (std::uint32_t a = 0; a < 10; ++a)
    for (std::uint32_t b = 0; b < 10; ++b)
      if ((a + 10 - b) % 10 >= 2 && (a + 10 - b) % 10 <= 8)
        scanner.module_pair[a * 10 + b] = static_cast<std::int32_t>((a >= 6 ? 2 : 0) + (b >= 6 ? 1 : 0));
  scanner.module_pair[0] = 0;  // also within module 0
  scanner.validate();
  return scanner;
}

/// Closed-form efficiencies, two layers: as eXplore Vista, with fewer crystals. (Inlined, it makes GCC 12 warn of its
/// own code.)
[[gnu::noinline]] inline RingScanner two_layer_ring(int sectors = 18) {
  RingScanner ring;
  ring.inner_radius_mm = 59;
  ring.modules_transaxial = sectors;
  ring.modules_axial = 2;
  ring.crystals_transaxial = 4;
  ring.crystals_axial = 4;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 5;
  ring.module_pitch_axial_mm = 25.7;
  ring.layers = {{7, 0.83}, {8, 0.7}};
  ring.min_sector_difference = 6;
  return ring;
}

/// 1920 crystals in blocks of 20 x 8.
[[gnu::noinline]] inline RingScanner ring_of_blocks() {
  RingScanner ring;
  ring.inner_radius_mm = 160;
  ring.modules_transaxial = 12;
  ring.crystals_transaxial = 20;
  ring.crystals_axial = 8;
  ring.min_sector_difference = 3;
  return ring;
}

/// 2304 crystals in blocks of 8 x 6: a lattice ends at a block's edge, and covers small ones less evenly.
[[gnu::noinline]] inline RingScanner ring_of_small_blocks() {
  RingScanner ring = ring_of_blocks();
  ring.modules_transaxial = 24;
  ring.modules_axial = 2;
  ring.crystals_transaxial = 8;
  ring.crystals_axial = 6;
  ring.module_pitch_axial_mm = 26;
  ring.min_sector_difference = 5;
  return ring;
}

/// 0.0096/mm, as water, in a cylinder about the z axis.
inline Image cylinder_mu(const Grid& grid, float radius_mm) {
  Image mu = Image::zeros(grid);
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        if (std::hypot(grid.centre(i, j, k).x, grid.centre(i, j, k).y) < radius_mm)
          mu.voxels[grid.index(i, j, k)] = 0.0096f;
  return mu;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
