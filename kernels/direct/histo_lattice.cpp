// Lattices of histo-images: see histo_lattice.hpp.
#include "kernels/direct/histo_lattice.hpp"

#include <algorithm>

namespace tofstream {

DirectLattice DirectLattice::of(const Grid& grid, HistoLattice kind, const ViewFrame& frame) {
  DirectLattice lattice;
  lattice.spacing_mm = grid.voxel_mm.as<double>();
  for (int axis = 0; axis < 3; ++axis) {
    lattice.size[axis] = grid.size[axis];
    lattice.centre_mm.set(axis,
                          static_cast<double>(grid.origin_mm[axis]) + lattice.middle(axis) * lattice.spacing_mm[axis]);
  }
  if (kind == HistoLattice::image) return lattice;
  const double x_mm = grid.size[0] * lattice.spacing_mm.x, y_mm = grid.size[1] * lattice.spacing_mm.y;
  const double edge = std::min(lattice.spacing_mm.x, lattice.spacing_mm.y);
  constexpr double spare = 0.01;  // of a voxel: edges are floats
  lattice.spacing_mm.x = lattice.spacing_mm.y = edge;
  lattice.size[0] = lattice.size[1] = std::max(1, static_cast<int>(std::ceil(std::max(x_mm, y_mm) / edge - spare)));
  lattice.cos_f = frame.cos_f;
  lattice.sin_f = frame.sin_f;
  lattice.tan_q = frame.tan_q();
  return lattice;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
