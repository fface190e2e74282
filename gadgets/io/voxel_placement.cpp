// Voxels of files in our world: see voxel_placement.hpp.
#include "gadgets/io/voxel_placement.hpp"

#include <array>
#include <cmath>

#include "kernels/math/dominant_axis.hpp"

namespace tofstream::formats {

std::optional<VoxelPlacement> placement_along_axes(const Affine& world_of_index, const int (&size)[3],
                                                   double obliqueness) {
  VoxelPlacement result;
  int axes[3];
  bool is_taken[3] = {};
  for (int a = 0; a < 3; ++a) {
    const Vec3d edge = world_of_index.column(a);
    const int world = axes[a] = dominant_axis<EqualAxes::x_y_z>(edge);
    if (is_taken[world]) return {};
    is_taken[world] = true;
    const double along = edge[world], first = world_of_index.shift_mm[world];
    for (int other = 0; other < 3; ++other)
      if (other != world && !(std::abs(edge[other]) <= obliqueness * std::abs(along))) return {};
    result.grid.size[world] = size[a];
    result.grid.voxel_mm.set(world, static_cast<float>(std::abs(along)));
    result.grid.origin_mm.set(world, static_cast<float>(along < 0 ? first + (size[a] - 1) * along : first));
  }
  for (int a = 0; a < 3; ++a) {
    result.step[a] = result.grid.stride(axes[a]);
    if (world_of_index.column(a)[axes[a]] > 0) continue;
    result.start += result.step[a] * (size[a] - 1);
    result.step[a] = -result.step[a];
  }
  return result;
}

VoxelPlacement placement_along_own_axes(const Affine& world_of_index, const int (&size)[3]) {
  VoxelPlacement result;
  std::array<Vec3d, 3> directions;
  for (int a = 0; a < 3; ++a) {
    const Vec3d edge = world_of_index.column(a);
    result.grid.size[a] = size[a];
    result.grid.voxel_mm.set(a, static_cast<float>(norm(edge)));
    directions[static_cast<std::size_t>(a)] = (1 / norm(edge)) * edge;
  }
  for (int a = 0; a < 3; ++a) result.step[a] = result.grid.stride(a);
  result.to_world = Affine::of_columns(directions, world_of_index.shift_mm);
  return result;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
