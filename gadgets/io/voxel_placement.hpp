// Where the voxels of a file lie in our world, and where they go in memory: along x, y and z ascending if the file's
// axes run along these, in any order and direction; else along the file's own axes.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/grid/resample.hpp"
#include "kernels/types/affine.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::formats {

struct VoxelPlacement {
  Grid grid;
  Affine to_world;            // from the grid's frame; nothing is moved where the axes run along x, y and z
  std::int64_t start = 0;     // in memory, of the file's first voxel
  std::int64_t step[3] = {};  // along the file's axes
};

/// `world_of_index`: from the file's voxel indices to mm in LPS; it must not be singular. Nothing where an axis runs
/// more than `obliqueness` along another for a length of 1 along its own.
std::optional<VoxelPlacement> placement_along_axes(const Affine& world_of_index, const int (&size)[3],
                                                   double obliqueness);

/// The grid of the file's own axes, whose first voxel has its centre at the origin.
VoxelPlacement placement_along_own_axes(const Affine& world_of_index, const int (&size)[3]);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
