// The choice of tiles: see tiling.hpp.
#include "kernels/project/tiled/tiling.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream::tiled {

namespace {

// Sideways steps of a typical path for each of its planes: the mean slope of lines within 45 degrees of the axis.
constexpr double mean_slope = 0.45;

int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

// Cells (floors of crossings) along columns or rows.
int cells(const AxisTiles& axis, int k) {
  return axis.size[k] - 1 + 2 * axis.reach.margin;
}

void set_core(AxisTiles& axis, int k, int tiles) {
  const int whole = k == 0 ? axis.size[0] : cells(axis, k);
  axis.core[k] = ceil_div(whole, tiles);
  axis.per_core[k] = 1 / static_cast<float>(axis.core[k]);
  axis.tiles[k] = ceil_div(whole, axis.core[k]);
  const int reached = k == 0 ? axis.core[0] : axis.core[k] + axis.reach.low + axis.reach.high;
  axis.stored[k] = std::min(reached, axis.size[k] - 2 * axis.lowest[k]);
}

// Tiles that a path meets, with what the loading of tiles adds where they are mostly halo.
double cost(const AxisTiles& axis, double planes) {
  const auto crossed = [&](int k, double steps) { return axis.tiles[k] > 1 ? steps / axis.core[k] : 0.0; };
  return crossed(0, planes) + crossed(1, mean_slope * planes) + crossed(2, mean_slope * planes);
}

AxisTiles make_axis(const Grid& grid, const Reach& reach, int axis, double path_mm, int words) {
  AxisTiles best, tried;
  tried.axis = axis;
  tried.u_axis = axis == 0 ? 1 : 0;
  tried.v_axis = axis == 2 ? 1 : 2;
  tried.reach = reach;
  const int axes[3] = {tried.axis, tried.u_axis, tried.v_axis};
  for (int k = 0; k < 3; ++k) {
    tried.size[k] = grid.size[axes[k]];
    tried.edge_mm[k] = grid.voxel_mm[axes[k]];
    tried.lowest[k] = k > 0 && reach.stores_margin ? -reach.margin : 0;
  }
  const double planes = std::min(path_mm / static_cast<double>(grid.voxel_mm[axis]), 1.0 * tried.size[0]);
  double least = std::numeric_limits<double>::max();
  for (int nu = 1; nu <= cells(tried, 1); nu = std::max(nu + 1, nu + nu / 8)) {
    set_core(tried, 1, nu);
    for (int nv = 1; nv <= cells(tried, 2); nv = std::max(nv + 1, nv + nv / 8)) {
      set_core(tried, 2, nv);
      tried.row_stride = tried.stored[1];
      tried.plane_stride =
          (tried.row_stride * tried.stored[2]) | 1;  // odd: planes of one column lie in different banks
      const int fitting = (words - tried.spare_words()) / tried.plane_stride;
      if (fitting < 1) continue;
      set_core(tried, 0, ceil_div(tried.size[0], std::min({fitting, tried.size[0], max_planes})));
      const double price = cost(tried, planes);
      if (price < least) {
        least = price;
        best = tried;
      }
    }
  }
  if (best.count() == 0)
    throw std::invalid_argument(fmt::format(
        "the footprint of a line ({} voxels about it) does not fit the GPU's shared memory: use a narrower tube",
        reach.low));
  return best;
}

}  // namespace

Tiling make_tiling(const Grid& grid, const Reach& reach, double path_mm, int words) {
  Tiling tiling;
  int first = 0;
  for (int axis = 0; axis < 3; ++axis) {
    tiling.axes[axis] = make_axis(grid, reach, axis, path_mm, words);
    tiling.axes[axis].first_tile = first;
    first += tiling.axes[axis].count();
  }
  return tiling;
}

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
