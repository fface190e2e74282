// An image as a picture for people: transverse, coronal and sagittal slices through a point, or
// maximum-intensity projections, with orientation letters, mm scale bar and colour bar; PNG.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gadgets/formats/picture/colour_map.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

struct ViewSettings {
  enum class Kind { slices, mip };
  Kind kind = Kind::slices;
  std::string title;
  std::string unit = "Bq/mL";
  ColourMap map = ColourMap::inverted_grey;
  std::optional<Vec3> point_mm;  // slices go through it; default: centre of the image
  std::optional<double> low;     // value of the map's first colour; default: 0, or the minimum
                                 // where that is negative
  std::optional<double> high;    // value of its last; default: the 99.9th percentile of what is
                                 // shown, or the maximum where it is near
  bool interpolate = true;       // bilinear; false shows voxels as they are
  int width_px = 1200;
};

/// Draws a host image. Anatomical convention: seen from the feet and from the front, so the
/// patient's left is on the right. Of an image one voxel thick there is one slice, across it. The file appears by
/// rename, or not at all. Throws std::invalid_argument for a width outside [400, 8000], a point outside the image,
/// voxels that are not finite or an empty range; std::runtime_error when it cannot be written.
void write_view_png(const std::filesystem::path& path, const Image& image, const ViewSettings& settings = {});

/// The same picture as the bytes of a PNG. Throws as write_view_png does.
std::string view_png(const Image& image, const ViewSettings& settings = {});

}  // namespace tofstream
