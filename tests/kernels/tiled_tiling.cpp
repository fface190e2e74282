// The tiles of an image for CUDA's projectors: each crossing has one, which holds the voxels that it reaches and fits
// into memory.
#include "kernels/project/tiled/tiling.hpp"

using namespace tofstream;
using tiled::AxisTiles;
using tiled::Reach;
using tiled::Tiling;

namespace {

// Along columns or rows, each cell's tile holds the voxels that the cell reaches, except those outside the image.
void check_side(const AxisTiles& axis, int k) {
  const int cells = axis.size[k] - 1 + 2 * axis.reach.margin;
  CHECK(axis.core[k] * axis.tiles[k] >= cells);
  CHECK(axis.core[k] * (axis.tiles[k] - 1) < cells);
  const int outside = axis.reach.stores_margin ? axis.reach.margin : 0;
  for (int cell = 0; cell < cells; ++cell) {
    const int crossing = cell - axis.reach.margin, begin = axis.begin(k, cell / axis.core[k]);
    const int first = std::max(crossing - axis.reach.low, -outside);
    const int last = std::min(crossing + axis.reach.high, axis.size[k] - 1 + outside);
    if (last < first) continue;
    CHECK(begin <= first);
    CHECK(last < begin + axis.stored[k]);
  }
}

void check_tiling(const Grid& grid, const Reach& reach, double path_mm, int words) {
  const Tiling tiling = tiled::make_tiling(grid, reach, path_mm, words);
  CHECK(tiling.words() <= words);
  int first = 0;
  for (int a = 0; a < 3; ++a) {
    const AxisTiles& axis = tiling.axes[a];
    CHECK(axis.axis == a);
    CHECK(axis.first_tile == first);
    first += axis.count();
    CHECK(axis.core[0] * axis.tiles[0] >= axis.size[0]);
    CHECK(axis.core[0] <= tiled::max_planes);
    for (int tile = 0; tile < axis.tiles[0]; ++tile) {
      const int last = std::min((tile + 1) * axis.core[0], axis.size[0]) - 1;
      CHECK(axis.begin(0, tile) <= tile * axis.core[0]);
      CHECK(last < axis.begin(0, tile) + axis.stored[0]);
    }
    check_side(axis, 1);
    check_side(axis, 2);
    CHECK(axis.plane_stride >= axis.stored[1] * axis.stored[2]);
    CHECK(axis.plane_stride % 2 == 1);
  }
  CHECK(tiling.count() == first);
}

}  // namespace

TEST_CASE("every crossing has a tile that holds what it reaches, within the shared memory") {
  const Reach line{.low = 0, .high = 1, .margin = 1, .stores_margin = true};
  const Reach tube{.low = 5, .high = 6, .margin = 6, .stores_margin = false};
  for (const Grid& grid : {Grid::centred(75, 75, 26, {4, 4, 4}), Grid::centred(200, 200, 300, {2, 2, 2}),
                           Grid::centred(1, 7, 2, {1, 2, 3}), Grid::centred(13, 600, 90, {1, 1, 5})})
    for (const Reach& reach : {line, tube})
      for (const double path : {30.0, 250.0, 1e9})
        for (const int words : {4000, 57856}) check_tiling(grid, reach, path, words);
}

TEST_CASE("a small image is one tile for each axis, and what cannot fit is refused") {
  const Reach line{.low = 0, .high = 1, .margin = 1, .stores_margin = true};
  CHECK(tiled::make_tiling(Grid::centred(20, 20, 20, {1, 1, 1}), line, 1e9, 57856).count() == 3);
  const Reach wide{.low = 100, .high = 101, .margin = 101, .stores_margin = false};
  CHECK_THROWS_WITH_AS(tiled::make_tiling(Grid::centred(300, 300, 300, {1, 1, 1}), wide, 1e9, 4000),
                       doctest::Contains("use a narrower tube"), std::invalid_argument);
}

TEST_CASE("the tiles of the largest images have voxels beyond 2^32") {
  const Reach tube{.low = 5, .high = 6, .margin = 6, .stores_margin = false};
  check_tiling(Grid::centred(1024, 1024, 1024, {1, 1, 1}), tube, 100.0, 57856);
  Tiling tiling = tiled::make_tiling(Grid::centred(4096, 4096, 300, {1, 1, 1}), tube, 100.0, 57856);
  tiling.images = 2;
  CHECK(tiling.voxels() == 2 * 5'033'164'800);
  CHECK(tiling.first_voxel(static_cast<std::uint32_t>(tiling.count() - 1)) == 5'033'164'800);
}
// SPDX-License-Identifier: Apache-2.0
