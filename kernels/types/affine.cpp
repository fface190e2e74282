// Affine maps: see affine.hpp.
#include "kernels/types/affine.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace tofstream {

Vec3d cross(Vec3d a, Vec3d b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

Affine Affine::of_columns(const std::array<Vec3d, 3>& columns, Vec3d shift_mm) {
  const auto& [a, b, c] = columns;
  return {{a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z}, shift_mm};
}

Affine Affine::of_centres(const Grid& grid) {
  const Vec3d edge = grid.voxel_mm.as<double>();
  return {{edge.x, 0, 0, 0, edge.y, 0, 0, 0, edge.z}, grid.origin_mm.as<double>()};
}

Vec3d Affine::column(int axis) const {
  const auto a = static_cast<std::size_t>(axis);
  return {matrix[a], matrix[3 + a], matrix[6 + a]};
}

Vec3d Affine::operator()(Vec3d p) const {
  return p.x * column(0) + p.y * column(1) + p.z * column(2) + shift_mm;
}

Affine Affine::after(const Affine& first) const {
  Affine linear = *this;
  linear.shift_mm = {};
  return of_columns({linear(first.column(0)), linear(first.column(1)), linear(first.column(2))},
                    (*this)(first.shift_mm));
}

double Affine::determinant() const {
  return dot(column(0), cross(column(1), column(2)));
}

bool Affine::is_singular() const {
  constexpr double rounding = 1e-6;
  const double volume = norm(column(0)) * norm(column(1)) * norm(column(2)), shift = norm(shift_mm);
  return !(std::isfinite(volume) && std::isfinite(shift) && std::abs(determinant()) > rounding * volume);
}

Affine Affine::inverse() const {
  if (is_singular()) throw std::invalid_argument("the affine map is singular");
  const double scale = 1 / determinant();
  const Vec3d x = scale * cross(column(1), column(2)), y = scale * cross(column(2), column(0)),
              z = scale * cross(column(0), column(1));
  Affine result{{x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z}, {}};
  result.shift_mm = -1.0 * result(shift_mm);
  return result;
}

bool Affine::is_shift() const {
  constexpr double rounding = 1e-9;
  const Affine identity;
  for (std::size_t i = 0; i < matrix.size(); ++i)
    if (!(std::abs(matrix[i] - identity.matrix[i]) <= rounding)) return false;
  return true;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
