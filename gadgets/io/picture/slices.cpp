// Planes of an image: see slices.hpp.
#include "gadgets/io/picture/slices.hpp"

#include <algorithm>
#include <cstddef>

#include <tbb/parallel_for.h>

namespace tofstream::detail {

namespace {

/// Calls take(plane position, voxel index) for every sample of slice `index`. In LPS x grows to the
/// patient's left, y to the back, z to the head: transverse and coronal have x to the right,
/// sagittal y to the right; z is up.
template <class Take>
void visit(const Grid& grid, Looking along, int index, const Take& take) {
  const int axis = static_cast<int>(along);
  const int horizontal = along == Looking::sagittal ? 1 : 0, vertical = along == Looking::transverse ? 1 : 2;
  std::size_t position = 0;
  for (int row = 0; row < grid.size[vertical]; ++row) {
    const int v = vertical == 2 ? grid.size[2] - 1 - row : row;
    const std::int64_t start = index * grid.stride(axis) + v * grid.stride(vertical);
    for (int column = 0; column < grid.size[horizontal]; ++column)
      take(position++, start + column * grid.stride(horizontal));
  }
}

Plane empty_plane(const Grid& grid, Looking along) {
  const int horizontal = along == Looking::sagittal ? 1 : 0, vertical = along == Looking::transverse ? 1 : 2;
  Plane plane{grid.size[horizontal],
              grid.size[vertical],
              static_cast<double>(grid.voxel_mm[horizontal]),
              static_cast<double>(grid.voxel_mm[vertical]),
              {}};
  plane.values.resize(static_cast<std::size_t>(plane.columns) * static_cast<std::size_t>(plane.rows));
  return plane;
}

}  // namespace

Plane slice(const Image& image, Looking along, int index) {
  Plane plane = empty_plane(image.grid, along);
  visit(image.grid, along, index,
        [&](std::size_t position, std::int64_t voxel) { plane.values[position] = image.voxels[voxel]; });
  return plane;
}

Plane maximum_projection(const Image& image, Looking along, int ends) {
  const Grid& grid = image.grid;
  const bool along_z = along == Looking::transverse;
  const int first = along_z ? ends : 0, last = grid.size[static_cast<int>(along)] - first;
  Plane plane = slice(image, along, first);
  if (!along_z) {  // its first rows and its last
    const auto cut = std::ptrdiff_t{ends} * plane.columns;
    plane.values = {plane.values.begin() + cut, plane.values.end() - cut};
    plane.rows -= 2 * ends;
  }
  const int axis = static_cast<int>(along);
  // Row by row on all threads, each along x where the voxels are neighbours in memory.
  tbb::parallel_for(0, plane.rows, [&](int row) {
    float* const highest = plane.values.data() + std::ptrdiff_t{row} * plane.columns;
    const int vertical = along == Looking::transverse ? 1 : 2, horizontal = along == Looking::sagittal ? 1 : 0;
    const std::int64_t start = (vertical == 2 ? grid.size[2] - 1 - ends - row : row) * grid.stride(vertical);
    const auto take = [&](int column, int depth) {
      const float value = image.voxels[start + column * grid.stride(horizontal) + depth * grid.stride(axis)];
      highest[column] = std::max(highest[column], value);
    };
    if (along == Looking::sagittal) {
      for (int column = 0; column < plane.columns; ++column)
        for (int depth = first + 1; depth < last; ++depth) take(column, depth);
    } else {
      for (int depth = first + 1; depth < last; ++depth)
        for (int column = 0; column < plane.columns; ++column) take(column, depth);
    }
  });
  return plane;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
