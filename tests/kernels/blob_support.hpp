// Grids of blobs for tests.
#pragma once

#include "kernels/blob/blob.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::testing {

/// Blobs with the radius for alpha, on lattices centred at the origin.
inline Grid blob_grid(int nx, int ny, int nz, float edge_mm, float alpha = 8.3689f) {
  Grid grid = Grid::centred(nx, ny, nz, {edge_mm, edge_mm, edge_mm});
  grid.blob = {uniform_blob_radius_mm(edge_mm, alpha), alpha};
  return grid;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
