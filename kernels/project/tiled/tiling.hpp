// How CUDA projectors cut an image into tiles that fit a multiprocessor's shared memory. A line crosses planes across
// its dominant axis; a tile owns the crossings of some planes, columns (u) and rows (v), and holds the voxels that
// these crossings reach.
#pragma once

#include <cstdint>

#include "kernels/types/grid.hpp"

namespace tofstream::tiled {

/// Most planes of a tile: each length that a visit may have is a bin (visit_bins.hpp).
inline constexpr int max_planes = 64;

/// The voxels that a footprint reaches about a crossing at column u in [c, c + 1): c - low to c + high, and likewise
/// for rows; and how far outside the image a crossing may lie and still reach it.
struct Reach {
  int low = 0, high = 1;
  int margin = 1;             // crossings lie in [-margin, size - 1 + margin)
  bool stores_margin = true;  // voxels outside the image are held too (as zeros), so that no bound need be checked
  int spare_rows = 0;         // words past a tile's last, in rows, that a footprint may add 0 to
};

/// The tiles for one dominant axis. Order of a tile's numbers: planes, columns, rows.
struct AxisTiles {
  int axis = 0, u_axis = 1, v_axis = 2;
  int size[3] = {};       // of the image: planes, columns, rows
  float edge_mm[3] = {};  // of a voxel: from plane to plane, along columns, along rows
  int core[3] = {};       // crossings that a tile owns
  float per_core[3] = {};
  int tiles[3] = {};   // along each
  int stored[3] = {};  // voxels that a tile holds
  int lowest[3] = {};  // voxel at which storage may begin
  Reach reach;
  int row_stride = 0, plane_stride = 0;  // words of shared memory; columns are neighbours
  int first_tile = 0;                    // number of this axis' first tile among those of all axes

  TOFSTREAM_HOST_DEVICE int count() const { return tiles[0] * tiles[1] * tiles[2]; }
  TOFSTREAM_HOST_DEVICE int words() const { return plane_stride * stored[0]; }
  TOFSTREAM_HOST_DEVICE int spare_words() const { return reach.spare_rows * row_stride; }
  /// The first voxel that a tile holds along planes, columns or rows (k = 0, 1, 2).
  TOFSTREAM_HOST_DEVICE int begin(int k, int tile) const {
    const int wanted = k == 0 ? tile * core[0] : tile * core[k] - reach.margin - reach.low;
    const int highest = (k == 0 ? size[0] : size[k] - lowest[k]) - stored[k];
    return wanted < lowest[k] ? lowest[k] : (wanted > highest && highest >= lowest[k] ? highest : wanted);
  }
};

/// The tiles of an image, for the three dominant axes. Several images on lattices of one size (blobs) have the same
/// tiles, numbered image after image as their voxels lie in memory.
struct Tiling {
  AxisTiles axes[3];
  int images = 1;
  TOFSTREAM_HOST_DEVICE int tiles_an_image() const { return axes[2].first_tile + axes[2].count(); }
  TOFSTREAM_HOST_DEVICE int count() const { return images * tiles_an_image(); }
  /// A tile's number among those of its image, and where this image begins.
  TOFSTREAM_HOST_DEVICE int in_image(std::uint32_t tile) const { return static_cast<int>(tile) % tiles_an_image(); }
  TOFSTREAM_HOST_DEVICE std::int64_t first_voxel(std::uint32_t tile) const {
    return static_cast<int>(tile) / tiles_an_image() * voxels_an_image();
  }
  TOFSTREAM_HOST_DEVICE std::int64_t voxels_an_image() const {
    return static_cast<std::int64_t>(axes[0].size[0]) * axes[0].size[1] * axes[0].size[2];
  }
  TOFSTREAM_HOST_DEVICE std::int64_t voxels() const { return images * voxels_an_image(); }
  /// How many words of shared memory the largest tile needs.
  TOFSTREAM_HOST_DEVICE int words() const {
    int most = 0;
    for (const AxisTiles& axis : axes) {
      const int needed = axis.words() + axis.spare_words();
      most = needed > most ? needed : most;
    }
    return most;
  }
};

/// The tiling, among those of at most `words` voxels a tile, in which a path of `path_mm` (the length of the ToF
/// response, at most the image's) crosses the fewest tiles. Throws std::invalid_argument where not even one plane of a
/// smallest tile fits.
Tiling make_tiling(const Grid& grid, const Reach& reach, double path_mm, int words);

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
