// Angles and sensitivity of all pixels: see sensitivity.hpp.
#include "kernels/strip/sensitivity.hpp"

namespace tofstream {

std::vector<StripAngles<float>> strip_pixel_angles(const StripGeometry& strips, const Grid& grid) {
  std::vector<StripAngles<float>> angles(static_cast<std::size_t>(grid.voxels()));
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j) {
      const Vec3d centre = grid.centre(0, j, k).as<double>();
      const StripAngles<double> exact = strip_angles(strips, centre.y, centre.z);
      angles[static_cast<std::size_t>(grid.index(0, j, k))] = {static_cast<float>(exact.low),
                                                               static_cast<float>(exact.high)};
    }
  return angles;
}

Image strip_sensitivity_image(const StripGeometry& strips, const Grid& grid) {
  Image image{grid, Buffer<float>(Memory::host, grid.voxels())};
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j) {
      const Vec3 centre = grid.centre(0, j, k);
      const double s = strip_sensitivity(strips, static_cast<double>(centre.y), static_cast<double>(centre.z));
      for (int i = 0; i < grid.size[0]; ++i) image.voxels[grid.index(i, j, k)] = static_cast<float>(s);
    }
  return image;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
