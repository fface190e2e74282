// What a scanner can image, from where its detectors stand, and the image's grid that follows from it
// (share/doc/conventions.md, "The image's grid").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/types/grid.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// A box in the scanner frame, in mm. Two strips lie in one plane, so that one edge of their box is 0.
struct FieldOfView {
  Vec3 centre_mm;
  Vec3 edges_mm;
};

/// The field of view of detectors around the z axis: across it, the largest circle whose every line the scanner
/// records, at most 0.9 of the detectors' distance from the axis, since a cover that no header tells of lies before
/// them; along it, from the first detector's edge to the last one's. For detectors in one plane it is all that lies
/// between them. Throws std::invalid_argument where there are fewer than two.
FieldOfView field_of_view(const Scanner& scanner);

/// The pitch of the crystals: the distance in mm from a detector to its nearest neighbour, for the type with the finest
/// detectors. 0 where the scanner has only two detectors.
float detector_pitch_mm(const Scanner& scanner);

/// Edge in mm of the voxels, or of the blobs' lattices, that choose_grid takes where there are not too many: half the
/// detectors' pitch rounded to 0.5 mm, at least 0.5 mm, and twice that for lattices.
float usual_voxel_mm(float detector_pitch_mm, bool blobs);

/// Wishes for an image whose grid follows from the scanner; what is left open is chosen.
struct GridWish {
  std::optional<Vec3> voxel_mm;  // of blobs, the edge of their lattices
  std::optional<Vec3> centre_mm;
  bool blobs = false;
  float blob_alpha = 0;
  float blob_radius_mm = 0;  // 0: that which makes equal coefficients a uniform density
};

/// Beyond so many values (256 MiB) chosen voxels are made larger.
inline constexpr std::int64_t most_chosen_voxels = std::int64_t{1} << 26;

/// The grid that holds the scanner's field of view. Its voxels are cubes of usual_voxel_mm, larger in steps of 0.5 mm
/// (of lattices 1 mm) where there would be more than most_chosen_voxels: crystals of width d resolve about d/2 at the
/// scanner's middle, and no voxel should be larger than what is resolved. Throws std::invalid_argument, in one line,
/// where neither the scanner nor the wish tells a voxel's size, or where the wished voxels are more than 4096 along an
/// axis or 2^30 in all.
Grid choose_grid(const Scanner& scanner, const GridWish& wish);

/// True where the grid's box holds the field of view, but for two of its voxels at each side.
bool holds_field_of_view(const Grid& grid, const Scanner& scanner);

/// The wished blob, on lattices of this edge.
Blob blob_of(const GridWish& wish, float edge_mm);

/// A grid about a centre, of blobs where `blob` has a radius.
Grid grid_about(const std::array<int, 3>& size, Vec3 voxel_mm, Vec3 centre_mm, Blob blob = {});

/// As a pipeline's `image` has it: {size: [163, 163, 92], voxel_mm: [2, 2, 2], centre_mm: [0, 0, 0]}.
std::string grid_in_words(const Grid& grid);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
