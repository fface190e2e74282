// An image as a picture for people: transverse, coronal and sagittal slices through a point, or
// maximum-intensity projections, with orientation letters, mm scale bar and colour bar; PNG.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gadgets/io/picture/colour_map.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

struct ViewSettings {
  enum class Kind { slices, mip };
  Kind kind = Kind::slices;
  std::string title;
  std::string unit = {};  // above the colour bar
  std::string note = {};  // below the panels, as "not quantitative: ..."; cut if there is no room
  ColourMap map = ColourMap::inverted_grey;
  std::optional<Vec3> point_mm;  // slices go through it
  bool at_hottest = false;       // or through the hottest place; default: the image's centre
  std::optional<double> low;     // value of the map's first colour; default: 0, or the minimum
                                 // where that is negative
  std::optional<double> high;    // value of its last; default: the 99.9th percentile of what is shown, but at least a
                                 // tenth of the maximum; or the maximum where it is near
  bool interpolate = true;       // bilinear; false shows voxels as they are
  int width_px = 1200;
};

/// Names of a drawing gadget's figures for the files of its last picture, which report.html shows.
inline constexpr const char* picture_figure = "picture";
inline constexpr const char* projections_figure = "projections";
inline constexpr const char* profiles_figure = "profiles";

/// Centre of the voxel around which the mean of 3 x 3 x 3 voxels is largest, so that a single noisy voxel is not taken.
/// The slices at the ends of the axis, where a scanner is hardly sensitive, do not count.
Vec3 hottest_place_mm(const Image& image);

/// Does what takes some hundredths of a second for the first picture of a program: call it where nothing waits.
void load_fonts();

/// Draws a host image. Anatomical convention: seen from the feet and from the front, so the patient's left is on the
/// right. An image one voxel thick has one slice, across it. Projections leave out a twentieth of the slices at either
/// end of the axis, and say so. The file appears by rename, or not at all. Throws std::invalid_argument for a width
/// outside [400, 8000], a point outside the image, voxels that are not finite or an empty range; std::runtime_error
/// when it cannot be written.
void write_view_png(const std::filesystem::path& path, const Image& image, const ViewSettings& settings = {});

/// The same picture as the bytes of a PNG. Throws as write_view_png does.
std::string view_png(const Image& image, const ViewSettings& settings = {});

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
