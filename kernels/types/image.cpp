// Grids are checked and images filled here: see grid.hpp and image.hpp.
#include "kernels/types/image.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

void validate(const Grid& grid) {
  for (int axis = 0; axis < 3; ++axis) {
    if (grid.size[axis] < 1 || grid.size[axis] > 4096)
      throw std::invalid_argument(
          fmt::format("image size must be in [1, 4096] voxels on each axis, not {}", grid.size[axis]));
    if (!(std::isfinite(grid.voxel_mm[axis]) && grid.voxel_mm[axis] > 0))
      throw std::invalid_argument(
          fmt::format("voxel edges must be finite and positive (mm), not {}", grid.voxel_mm[axis]));
    if (!std::isfinite(grid.origin_mm[axis]))
      throw std::invalid_argument(fmt::format("the image's origin must be finite (mm), not {}", grid.origin_mm[axis]));
  }
}

Image Image::filled(const Grid& grid, float value, Memory memory, Stream stream) {
  Image image{grid, Buffer<float>(Memory::host, grid.voxels())};
  std::ranges::fill(image.voxels.span(), value);
  if (memory == Memory::host) return image;
  Image result = image.to(memory, stream);
  synchronize(stream);  // the host copy is released on return
  return result;
}

}  // namespace tofstream
