// Symmetries that a scanner shares with an image's grid: mirrors and turns that map detectors on detectors,
// efficiencies on equal ones and voxels on voxels. Its sensitivity has them too, so a sample's may be averaged over
// them. Internal to the sensitivity.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::detail {

/// About the grid's centre: x and y change places, or not; then some axes are mirrored.
struct Symmetry {
  bool swap_xy = false;
  bool mirror[3] = {false, false, false};

  /// Where a point goes, counted from the grid's centre.
  Vec3 operator()(Vec3 p) const {
    if (swap_xy) p = {p.y, p.x, p.z};
    for (int a = 0; a < 3; ++a)
      if (mirror[a]) p.set(a, -p[a]);
    return p;
  }
};

/// A group of symmetries of one grid; the first is the identity.
struct SymmetryGroup {
  static constexpr int most = 16;  // of a box whose x and y are alike

  int size[3] = {1, 1, 1};          // of a lattice
  std::int64_t lattice_voxels = 1;  // voxels, or blobs of one lattice
  bool blobs = false;
  int count = 1;
  Symmetry elements[most] = {};

  /// Where an element puts voxel (i, j, k) of a lattice. A mirror of all axes exchanges the two lattices of blobs
  /// (types/grid.hpp).
  TOFSTREAM_HOST_DEVICE std::int64_t place(const Symmetry& s, int lattice, int i, int j, int k) const {
    const int x = s.swap_xy ? j : i, y = s.swap_xy ? i : j;
    const std::int64_t at_x = s.mirror[0] ? size[0] - 1 - x : x, at_y = s.mirror[1] ? size[1] - 1 - y : y,
                       at_z = s.mirror[2] ? size[2] - 1 - k : k;
    const int to = blobs && s.mirror[0] ? 1 - lattice : lattice;
    return to * lattice_voxels + at_x + size[0] * (at_y + size[1] * at_z);
  }

  /// The mean of an image over the voxels to which the group takes voxel v.
  TOFSTREAM_HOST_DEVICE double mean(const double* image, std::int64_t v) const {
    if (count == 1) return image[v];
    const auto lattice = static_cast<int>(v / lattice_voxels);
    const std::int64_t within = v % lattice_voxels, row = within / size[0];
    const auto i = static_cast<int>(within % size[0]), j = static_cast<int>(row % size[1]),
               k = static_cast<int>(row / size[1]);
    double sum = 0;
    for (int e = 0; e < count; ++e) sum += image[place(elements[e], lattice, i, j, k)];
    return sum / count;
  }
};

/// The symmetries that both grid and scanner have among the mirrors in x, y and z, the exchange of x and y, and their
/// compositions. Every detector must be mapped onto a detector (to 0.01 mm), and some pairs of each detector, drawn at
/// random, must be as efficient as their images (to 1e-3).
SymmetryGroup common_symmetries(const Scanner& scanner, const Grid& grid);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
