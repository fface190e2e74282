// The sensitivity image of two strips: see sensitivity.hpp.
#include "kernels/strip/sensitivity.hpp"

namespace tofstream {

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
