// The lattice of a histo-image's points: the image's own, or one that lies along the view. For host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/direct/direct_views.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

enum class HistoLattice {
  view,   // axes t, s, z: turned in the transverse plane so that the first axis is t, and sheared along z by tan q
  image,  // axes x, y, z: the image's voxels
};

/// Points (i, j, k), i fastest in memory. Seen from the image's centre, point (i, j, k) lies u along the view's
/// azimuth, s across it and z = k' + u tan q along the axis, where u, s and k' are i, j and k from the lattice's
/// middle, times the spacing. The image's own lattice is the case f = q = 0.
struct DirectLattice {
  int size[3] = {0, 0, 0};
  Vec3d spacing_mm, centre_mm;
  double cos_f = 1, sin_f = 0, tan_q = 0;

  /// The view's lattice has the image's rows and spacing along z. Across the axis its spacing is that of the image's
  /// smaller edge, and it is a square as wide as the image's longer side; so it is as large as a square image.
  static DirectLattice of(const Grid& grid, HistoLattice kind, const ViewFrame& frame);

  TOFSTREAM_HOST_DEVICE std::int64_t points() const { return std::int64_t{size[0]} * size[1] * size[2]; }
  TOFSTREAM_HOST_DEVICE std::int64_t index(int i, int j, int k) const {
    return i + size[0] * (j + std::int64_t{size[1]} * k);
  }
  TOFSTREAM_HOST_DEVICE bool contains(int i, int j, int k) const {
    return i >= 0 && j >= 0 && k >= 0 && i < size[0] && j < size[1] && k < size[2];
  }
  TOFSTREAM_HOST_DEVICE double middle(int axis) const { return 0.5 * (size[axis] - 1); }

  /// In the scanner frame.
  TOFSTREAM_HOST_DEVICE Vec3d position(int i, int j, int k) const {
    const Vec3d along = {(i - middle(0)) * spacing_mm.x, (j - middle(1)) * spacing_mm.y,
                         (k - middle(2)) * spacing_mm.z};
    return centre_mm + turned(along);
  }
  /// What position() makes of i, j and k that need not be whole.
  TOFSTREAM_HOST_DEVICE Vec3d coordinates(Vec3d position_mm) const {
    const Vec3d from = position_mm - centre_mm;
    const double u = cos_f * from.x + sin_f * from.y, s = cos_f * from.y - sin_f * from.x;
    return {u / spacing_mm.x + middle(0), s / spacing_mm.y + middle(1),
            (from.z - tan_q * u) / spacing_mm.z + middle(2)};
  }
  /// From a point to its neighbour along an axis.
  TOFSTREAM_HOST_DEVICE Vec3d step(int axis) const {
    Vec3d along;
    along.set(axis, spacing_mm[axis]);
    return turned(along);
  }

 private:
  TOFSTREAM_HOST_DEVICE Vec3d turned(Vec3d along) const {
    return {cos_f * along.x - sin_f * along.y, sin_f * along.x + cos_f * along.y, along.z + tan_q * along.x};
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
