// Affine maps of space in double precision: where the voxels of a file, or a whole image, lie.
#pragma once

#include <array>

#include "kernels/math/vec3.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

Vec3d cross(Vec3d a, Vec3d b);

/// p -> matrix * p + shift_mm.
struct Affine {
  std::array<double, 9> matrix = {1, 0, 0, 0, 1, 0, 0, 0, 1};  // row after row
  Vec3d shift_mm;

  /// That of the matrix with these columns.
  static Affine of_columns(const std::array<Vec3d, 3>& columns, Vec3d shift_mm);
  /// From voxel indices to the centres of a grid's voxels.
  static Affine of_centres(const Grid& grid);

  Vec3d column(int axis) const;
  Vec3d operator()(Vec3d p) const;
  /// The map that takes a point where this one takes what `first` makes of it.
  Affine after(const Affine& first) const;
  /// Throws std::invalid_argument where is_singular().
  Affine inverse() const;

  double determinant() const;
  /// Whether it takes all points to a plane, a line or a point, as far as rounding lets one tell, or has a number that
  /// is not finite.
  bool is_singular() const;
  /// Whether it is a shift alone, to 1e-9.
  bool is_shift() const;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
