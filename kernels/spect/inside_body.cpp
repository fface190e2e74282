// Views whose collimator would lie inside the body: see inside_body.hpp.
#include "kernels/spect/inside_body.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/spect/lattice.hpp"

namespace tofstream {
namespace {

/// A column of the map along the axis: its place, and the lowest and highest slice with a body.
struct BodyColumn {
  double x = 0, y = 0;
  double low_z = 0, high_z = 0;
};

std::vector<BodyColumn> body_columns(const Image& mu) {
  std::vector<BodyColumn> columns;
  const Grid& grid = mu.grid;
  for (int j = 0; j < grid.size[1]; ++j)
    for (int i = 0; i < grid.size[0]; ++i) {
      int first = -1, last = -1;
      for (int k = 0; k < grid.size[2]; ++k) {
        if (!(static_cast<double>(mu.voxels[grid.index(i, j, k)]) >= mu_of_body_per_mm)) continue;
        if (first < 0) first = k;
        last = k;
      }
      if (first < 0) continue;
      const Vec3d low = grid.centre(i, j, first).as<double>();
      columns.push_back({low.x, low.y, low.z, static_cast<double>(grid.centre(i, j, last).z)});
    }
  return columns;
}

/// How far towards the camera the body reaches, before or behind the detector; minus infinity where it is not seen.
double reach_towards(const LatticeView& view, const ViewSet& set, const std::vector<BodyColumn>& columns) {
  const double half_u = 0.5 * set.size[0] * static_cast<double>(set.pixel_mm.x);
  const double half_w = 0.5 * set.size[1] * static_cast<double>(set.pixel_mm.y);
  double reach = -std::numeric_limits<double>::infinity();
  for (const BodyColumn& column : columns) {
    if (column.high_z < view.centre_w_mm - half_w || column.low_z > view.centre_w_mm + half_w) continue;
    const double u = -column.x * view.cos + column.y * view.sin;
    if (std::abs(u - view.centre_u_mm) > half_u) continue;
    reach = std::max(reach, column.x * view.sin + column.y * view.cos);
  }
  return reach;
}

}  // namespace

std::optional<InsideBody> views_inside_body(const ViewSet& set, const Image& mu_per_mm) {
  const std::vector<BodyColumn> columns = body_columns(mu_per_mm);
  InsideBody found;
  double deepest = 0;
  for (std::size_t v = 0; v < set.places.size(); ++v) {
    const LatticeView view = LatticeView::of(set.places[v]);
    const double reach = reach_towards(view, set, columns), depth = reach - view.radius_mm;
    if (!(depth >= 0)) continue;
    if (found.views++ > 0 && depth <= deepest) continue;
    deepest = depth;
    found.view = static_cast<int>(v);
    found.reach_mm = reach;
  }
  if (found.views == 0) return std::nullopt;
  return found;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
